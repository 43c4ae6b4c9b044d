/**
 * Observes the SDK's objects. They keep their identity, because other objects refer to them. Each gets a hidden method
 * around its original one, which changes nothing in a run that is not eager.
 */

import {
  Agent,
  type FunctionToolResult,
  type Model,
  type ModelProvider,
  type ModelRequest,
  type Runner,
} from '@openai/agents'
import { currentRun, runOf } from './current-run.ts'
import { originalTool } from './joining-tool.ts'
import { modelsInside } from './resilient/inside.ts'
import { turnOf } from './turn.ts'

const watched: WeakSet<object> = new WeakSet()

/** The handoffs of a runner. Its hooks get the user's own tools. */
export function watchRunner(runner: Runner): void {
  if (!isNew(runner)) return
  const emit = runner.emit.bind(runner)
  const told: typeof emit = (type, ...args) => {
    const [context, , next] = args
    if (type === 'agent_handoff') runOf(context)?.handsOff(next)
    return tell(emit, type, args)
  }
  hide(runner, 'emit', told)
}

/** Calls the hooks of an event with the user's own tools. */
function tell(emit: (...told: never) => boolean, type: string, args: readonly unknown[]): boolean {
  return Reflect.apply(emit, undefined, [type, ...args.map(originalTool)]) === true
}

/** The turns of an agent, and of the agents it hands off to. Its hooks get the user's own tools. */
export function watchAgent(agent: unknown): void {
  if (!(agent instanceof Agent)) return
  watchModel(agent.model)
  if (!isNew(agent)) return
  const { getAllTools, getEnabledHandoffs }: Pick<Agent, 'getAllTools' | 'getEnabledHandoffs'> = agent
  const all: Agent['getAllTools'] = async (context, span, ...rest) => {
    const tools = await getAllTools.call(agent, context, span, ...rest)
    return (await runOf(context)?.turn(agent, tools, span)) ?? tools
  }
  const emit: Agent['emit'] = agent.emit.bind(agent)
  const enabled: Agent['getEnabledHandoffs'] = async (context) => {
    const handoffs = await getEnabledHandoffs.call(agent, context)
    if (runOf(context)) for (const handoff of handoffs) watchAgent(handoff.agent)
    return handoffs
  }
  hide(agent, 'getAllTools', all)
  hide(agent, 'getEnabledHandoffs', enabled)
  watchBehavior(agent)
  hide<'emit', Agent['emit']>(agent, 'emit', (type, ...args) => tell(emit, type, args))
}

/** While an eager run decides whether it ends, the user's function gets the user's own tools. */
function watchBehavior(agent: Agent): void {
  let given = agent.toolUseBehavior
  if (!Object.getOwnPropertyDescriptor(agent, 'toolUseBehavior')?.configurable) return
  Object.defineProperty(agent, 'toolUseBehavior', {
    configurable: true,
    enumerable: true,
    get(): ToolUseBehavior {
      const decide = given
      if (typeof decide !== 'function' || !currentRun()) return decide
      return (context, results) => decide(context, results.map(withOwnTool))
    },
    set(behavior: ToolUseBehavior) {
      given = behavior
    },
  })
}

type ToolUseBehavior = Agent['toolUseBehavior']

function withOwnTool(result: FunctionToolResult): FunctionToolResult {
  // It is read by the SDK, too, so it stays the same object.
  return Object.assign(result, { tool: originalTool(result.tool) })
}

/** The models that a provider returns. */
export function watchProvider(provider: ModelProvider): void {
  if (!isNew(provider)) return
  const { getModel } = provider
  const given: ModelProvider['getModel'] = (name) => {
    const model = getModel.call(provider, name)
    return 'then' in model ? model.then(watchModel) : watchModel(model)
  }
  hide(provider, 'getModel', given)
}

/** The requests to a model: with `resilient()` those to each of its models. */
export function watchModel<M extends Model | string | undefined>(model: M): M {
  if (typeof model !== 'object' || !isNew(model)) return model
  const inside = modelsInside(model)
  if (inside) for (const one of inside.models) watchRequests(one, inside.silence)
  else watchRequests(model)
  return model
}

function watchRequests(model: Model, silence?: number): void {
  const { getResponse, getStreamedResponse } = model
  const whole: Model['getResponse'] = (request) => getResponse.call(model, request)
  const streamed: Model['getStreamedResponse'] = (request) => getStreamedResponse.call(model, request)
  const watched = { whole, streamed, silence }
  const asked = (request: ModelRequest) => {
    const turn = turnOf(request)
    if (!turn) currentRun()?.asksUnlinked()
    return turn
  }
  hide(model, 'getResponse', (request: ModelRequest) => asked(request)?.whole(watched, request) ?? whole(request))
  hide(
    model,
    'getStreamedResponse',
    (request: ModelRequest) => asked(request)?.streamed(watched, request) ?? streamed(request),
  )
}

function isNew(object: object): boolean {
  if (watched.has(object)) return false
  watched.add(object)
  return true
}

/** The method is not enumerable, so `clone()` does not copy it. Frozen objects stay unchanged. */
function hide<Name extends string, Method>(object: { readonly [N in Name]: Method }, name: Name, value: Method): void {
  Reflect.defineProperty(object, name, { value, configurable: true, writable: true, enumerable: false })
}
