/**
 * Observes the SDK's objects. They keep their identity, because other objects refer to them. Each gets a hidden method
 * around its original one, which changes nothing in a run that is not eager.
 */

import { Agent, type Model, type ModelProvider, type ModelRequest } from '@openai/agents'
import { runOf } from './agent-run.ts'
import { turnOf } from './turn.ts'

const watched: WeakSet<object> = new WeakSet()

/** The turns of an agent, and of the agents it hands off to. */
export function watchAgent(agent: unknown): void {
  if (!(agent instanceof Agent)) return
  watchModel(agent.model)
  if (!isNew(agent)) return
  const { getAllTools, getEnabledHandoffs }: Pick<Agent, 'getAllTools' | 'getEnabledHandoffs'> = agent
  const all: Agent['getAllTools'] = async (context, ...rest) => {
    const tools = await getAllTools.call(agent, context, ...rest)
    return (await runOf(context)?.turn(agent, tools)) ?? tools
  }
  const enabled: Agent['getEnabledHandoffs'] = async (context) => {
    const handoffs = await getEnabledHandoffs.call(agent, context)
    if (runOf(context)) for (const handoff of handoffs) watchAgent(handoff.agent)
    return handoffs
  }
  hide(agent, 'getAllTools', all)
  hide(agent, 'getEnabledHandoffs', enabled)
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

/** The requests to a model. */
export function watchModel<M extends Model | string | undefined>(model: M): M {
  if (typeof model === 'object' && isNew(model)) watchRequests(model)
  return model
}

function watchRequests(model: Model): void {
  const { getResponse, getStreamedResponse } = model
  const whole: Model['getResponse'] = (request) => getResponse.call(model, request)
  const streamed: Model['getStreamedResponse'] = (request) => getStreamedResponse.call(model, request)
  hide(
    model,
    'getResponse',
    (request: ModelRequest) => turnOf(request)?.whole(whole, streamed, request) ?? whole(request),
  )
  hide(
    model,
    'getStreamedResponse',
    (request: ModelRequest) => turnOf(request)?.streamed(streamed, request) ?? streamed(request),
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
