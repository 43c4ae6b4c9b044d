/** The replacements for functions of OpenAI Agents in its tests. */

import { AsyncLocalStorage } from 'node:async_hooks'
import { type Added, listeners, pause, reads, type SpliceSettings, withMethod } from './wraps.ts'

interface Agent {
  readonly model?: unknown
  readonly tools?: readonly { readonly name?: string; readonly type?: string }[]
  readonly handoffs?: readonly (Agent | { readonly agent: Agent })[]
}

interface Runner {
  readonly config: { readonly model?: unknown; readonly modelProvider: ModelProvider }
  run(agent: Agent, input: unknown, options?: { readonly stream?: boolean }): Promise<unknown>
}

type Constructor = new (...args: readonly unknown[]) => Runner
type Run = Runner['run']

interface ModelProvider {
  getModel(name?: string): unknown
}

interface Model {
  getResponse(request: unknown): Promise<Response>
  getStreamedResponse(request: unknown): AsyncIterable<StreamEvent>
}

interface Response {
  readonly output: readonly OutputItem[]
  readonly responseId?: string
}

interface OutputItem {
  readonly type: string
  readonly callId?: string
  readonly name?: string
  readonly namespace?: string
  readonly arguments?: string
}

interface StreamEvent {
  readonly type: string
  readonly response?: Omit<Response, 'responseId'> & { readonly id?: string | undefined }
  readonly event?: unknown
}

export function wraps({ eager }: Added, settings: SpliceSettings) {
  const eagerSettings = { ...listeners(settings), ...(settings.paced && { alwaysStream: true }) }

  /** The tools are known when an agent is run. */
  function spliced(runner: Runner): Runner {
    const eagerRunners = new Map<string, Runner>()
    const eagerFor = (names: readonly string[]): Runner => {
      const key = names.join()
      const eagerRunner = eagerRunners.get(key) ?? eager?.(runner, reads(names), eagerSettings) ?? runner
      eagerRunners.set(key, eagerRunner)
      return eagerRunner
    }
    const run: Run = (agent, input, options) => {
      const agents = reachable(agent)
      const asked = () => eagerFor(namesOf(agents)).run(agent, input, options)
      if (!settings.paced) return asked()
      for (const { model } of [...agents, runner.config]) pace(model)
      paceProvider(runner.config.modelProvider)
      return streams.run(options?.stream === true, asked)
    }
    return withMethod(runner, 'run', () => run as (...args: readonly unknown[]) => unknown)
  }

  const Spliced = (plain: Constructor): Constructor =>
    new Proxy(plain, {
      construct: (target, args, newTarget) => spliced(Reflect.construct(target, args, newTarget) as Runner),
    })

  /** Uses a hidden runner, which is made at the first call. */
  const spliceRun = (_: Run, { Runner }: { readonly Runner: Constructor }): Run => {
    let runner: Runner | undefined
    return (...args) => {
      runner ??= spliced(new Runner())
      return runner.run(...args)
    }
  }
  return { Runner: Spliced, run: spliceRun }
}

/** An agent and all agents that it can hand over to. */
function reachable(agent: Agent, found: Set<Agent> = new Set()): ReadonlySet<Agent> {
  if (typeof agent !== 'object' || found.has(agent)) return found
  found.add(agent)
  for (const one of agent.handoffs ?? []) reachable('agent' in one ? one.agent : one, found)
  return found
}

function namesOf(agents: ReadonlySet<Agent>): readonly string[] {
  const tools = [...agents].flatMap((agent) => agent.tools ?? [])
  return [...new Set(tools.flatMap(({ name, type }) => (type === 'function' && name !== undefined ? [name] : [])))]
}

/** Whether the current run streams. */
const streams = new AsyncLocalStorage<boolean>()
const paced = new WeakSet<object>()

/** Makes the model stream its calls piece by piece, like OpenAI's models, also for a run that does not stream. */
function pace(model: unknown): void {
  if (!isModel(model) || paced.has(model)) return
  paced.add(model)
  const { getResponse, getStreamedResponse } = model
  hide(model, 'getResponse', async (request: unknown) => {
    await pause()
    return getResponse.call(model, request)
  })
  hide(model, 'getStreamedResponse', async function* (request: unknown) {
    const isStreamed = streams.getStore() ?? true
    const events = isStreamed ? getStreamedResponse.call(model, request) : wholeOf(getResponse.call(model, request))
    for await (const event of events) {
      if (event.type === 'response_done') yield* pieces(event.response?.output ?? [])
      await pause()
      yield event
    }
  })
}

function paceProvider(provider: ModelProvider): void {
  if (paced.has(provider)) return
  paced.add(provider)
  const { getModel } = provider
  hide(provider, 'getModel', (name?: string) => {
    const model = getModel.call(provider, name)
    if (model instanceof Promise) void model.then(pace, () => undefined)
    else pace(model)
    return model
  })
}

async function* wholeOf(asked: Promise<Response>): AsyncGenerator<StreamEvent> {
  const { responseId: id, ...response } = await asked
  yield { type: 'response_done', response: { ...response, id } }
}

/** The raw Responses events for the calls of a response. */
async function* pieces(output: readonly OutputItem[]): AsyncGenerator<StreamEvent> {
  for (const [index, { type, callId, name, namespace, arguments: text = '' }] of output.entries()) {
    if (type !== 'function_call') continue
    const item = { type, call_id: callId, name, ...(namespace !== undefined && { namespace }) }
    const half = Math.ceil(text.length / 2)
    for (const event of [
      { type: 'response.output_item.added', item: { ...item, arguments: '' } },
      { type: 'response.function_call_arguments.delta', delta: text.slice(0, half) },
      { type: 'response.function_call_arguments.delta', delta: text.slice(half) },
      { type: 'response.output_item.done', item: { ...item, arguments: text } },
    ]) {
      await pause()
      yield { type: 'model', event: { ...event, output_index: index } }
    }
  }
}

function isModel(model: unknown): model is Model {
  return typeof model === 'object' && model !== null && 'getResponse' in model && 'getStreamedResponse' in model
}

function hide(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, configurable: true, writable: true, enumerable: false })
}
