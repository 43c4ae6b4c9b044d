/** Records what LangChain reports of an early run. */

import { BaseCallbackHandler } from '@langchain/core/callbacks/base'
import {
  type CallbackManager,
  CallbackManagerForChainRun as ChainRun,
  CallbackManagerForLLMRun as LLMRun,
  CallbackManagerForRetrieverRun as RetrieverRun,
  CallbackManagerForToolRun as ToolRun,
} from '@langchain/core/callbacks/manager'
import { type EarlyRun, isTapping, type Report, type ReportedRuns, type Run } from './reported-runs.ts'

/** LangChain adds its own tracers and handlers, unless there is one of the same name. */
export function standIns(handlers: readonly object[]): readonly BaseCallbackHandler[] {
  const names = new Set(handlers.filter((one) => !isTapping(one)).map(nameOf))
  return [...names].map((name) => new StandIn(name))
}

function nameOf(handler: object): string {
  return 'name' in handler && typeof handler.name === 'string' ? handler.name : 'eager-tools'
}

class StandIn extends BaseCallbackHandler {
  override readonly name: string

  constructor(name: string) {
    super()
    this.name = name
  }
}

type Told<Name extends keyof BaseCallbackHandler> = Parameters<
  Extract<BaseCallbackHandler[Name], (...told: never) => unknown>
>
type Start = (
  manager: CallbackManager,
  runs: ReportedRuns,
) => ReturnType<CallbackManager['handleLLMStart' | 'handleChainStart' | 'handleToolStart' | 'handleRetrieverStart']>
/** Resolves when LangChain may go on. */
type Telling = Promise<void> | undefined
type Tags = readonly string[] | undefined
type Metadata = Readonly<Record<string, unknown>> | undefined

/**
 * Records everything that LangChain reports. It has the methods of a tracer, because only a tracer receives the input
 * as it is.
 */
export class Recorder extends BaseCallbackHandler {
  override readonly name: string
  override awaitHandlers = true
  /** LangChain reads these: a model that the tool calls streams if it would stream in the tools node. */
  readonly lc_prefer_streaming: boolean
  readonly lc_prefer_chat_model_stream_events: boolean
  readonly #tell: (report: Report) => Telling

  constructor(handlers: readonly object[], tell: (report: Report) => Telling) {
    super()
    const prefer = (member: string) => handlers.some((one) => Boolean(Reflect.get(one, member)))
    // LangChain passes streams through the handler that it knows by this name.
    this.name = nameOf(handlers.find(isTapping) ?? {})
    this.lc_prefer_streaming = prefer('lc_prefer_streaming')
    this.lc_prefer_chat_model_stream_events = prefer('lc_prefer_chat_model_stream_events')
    this.#tell = tell
  }

  // The methods of a tracer, which receive all beginnings.

  _addRunToRunMap(): void {}

  _createRunForLLMStart(...told: Told<'handleLLMStart'>): void {
    const [llm, prompts, id, parent, extra, tags, metadata, name] = told
    const start: Start = (to, runs) =>
      to.handleLLMStart(llm, prompts, id, undefined, runs.extra(extra), undefined, undefined, name)
    this.#begin({ id, parent, tags, metadata }, start)
  }

  _createRunForChatModelStart(...told: Told<'handleChatModelStart'>): void {
    const [llm, messages, id, parent, extra, tags, metadata, name] = told
    const start: Start = (to, runs) =>
      to.handleChatModelStart(llm, messages, id, undefined, runs.extra(extra), undefined, undefined, name)
    this.#begin({ id, parent, tags, metadata }, start)
  }

  _createRunForChainStart(
    chain: Told<'handleChainStart'>[0],
    inputs: Told<'handleChainStart'>[1],
    id: string,
    parent: string | undefined,
    tags: Tags,
    metadata: Metadata,
    type?: string,
    name?: string,
    extra?: Record<string, unknown>,
  ): void {
    const start: Start = (to) =>
      to.handleChainStart(chain, inputs, id, type, undefined, undefined, name, undefined, extra)
    this.#begin({ id, parent, tags, metadata }, start)
  }

  _createRunForToolStart(
    tool: Told<'handleToolStart'>[0],
    input: string | Record<string, unknown>,
    id: string,
    parent: string | undefined,
    tags: Tags,
    metadata: Metadata,
    name?: string,
    callId?: string,
  ): void {
    const start: Start = (to, runs) =>
      to.handleToolStart(tool, input, id, undefined, undefined, undefined, name, runs.callId(callId))
    this.#begin({ id, parent, tags, metadata }, start)
  }

  _createRunForRetrieverStart(...told: Told<'handleRetrieverStart'>): void {
    const [retriever, query, id, parent, tags, metadata, name] = told
    const start: Start = (to) => to.handleRetrieverStart(retriever, query, id, undefined, undefined, undefined, name)
    this.#begin({ id, parent, tags, metadata }, start)
  }

  #begin(run: EarlyRun, start: Start): void {
    void this.#tell((runs) => runs.begin(run, (manager) => start(manager, runs)))
  }

  #end<Kind extends Run>(
    id: string,
    kind: abstract new (...parts: never) => Kind,
    end: (run: Kind, runs: ReportedRuns) => unknown,
  ) {
    return this.#tell(async (runs) => {
      const run = runs.of(kind, id)
      if (run) await end(run, runs)
    })
  }

  // What happens in a run, and its end.

  override handleLLMNewToken = (...[token, at, id, , , fields]: Told<'handleLLMNewToken'>): Telling =>
    this.#tell((runs) => runs.of(LLMRun, id)?.handleLLMNewToken(token, at, undefined, undefined, undefined, fields))

  override handleChatModelStreamEvent = (...[event, id]: Told<'handleChatModelStreamEvent'>): Telling =>
    this.#tell((runs) => runs.of(LLMRun, id)?.handleChatModelStreamEvent(event))

  override handleLLMError = (...[error, id, , , extra]: Told<'handleLLMError'>): Telling =>
    this.#end(id, LLMRun, (run) => run.handleLLMError(error, undefined, undefined, undefined, extra))

  override handleLLMEnd = (...[output, id, , , extra]: Told<'handleLLMEnd'>): Telling =>
    this.#end(id, LLMRun, (run) => run.handleLLMEnd(output, undefined, undefined, undefined, extra))

  override handleChainError = (...[error, id, , , more]: Told<'handleChainError'>): Telling =>
    this.#end(id, ChainRun, (run) => run.handleChainError(error, undefined, undefined, undefined, more))

  override handleChainEnd = (...[outputs, id, , , more]: Told<'handleChainEnd'>): Telling =>
    this.#end(id, ChainRun, (run) => run.handleChainEnd(outputs, undefined, undefined, undefined, more))

  override handleAgentAction = (...[action, id]: Told<'handleAgentAction'>): Telling =>
    this.#tell((runs) => runs.of(ChainRun, id)?.handleAgentAction(action))

  override handleAgentEnd = (...[action, id]: Told<'handleAgentEnd'>): Telling =>
    this.#tell((runs) => runs.of(ChainRun, id)?.handleAgentEnd(action))

  override handleToolEvent = (...[chunk, id]: Told<'handleToolEvent'>): Telling =>
    this.#tell((runs) => runs.of(ToolRun, id)?.handleToolEvent(chunk))

  override handleToolError = (...[error, id]: Told<'handleToolError'>): Telling =>
    this.#end(id, ToolRun, (run) => run.handleToolError(error))

  override handleToolEnd = (...[output, id]: Told<'handleToolEnd'>): Telling =>
    this.#end(id, ToolRun, (run, runs) => run.handleToolEnd(runs.output(output)))

  override handleRetrieverError = (...[error, id]: Told<'handleRetrieverError'>): Telling =>
    this.#end(id, RetrieverRun, (run) => run.handleRetrieverError(error))

  override handleRetrieverEnd = (...[documents, id]: Told<'handleRetrieverEnd'>): Telling =>
    this.#end(id, RetrieverRun, (run) => run.handleRetrieverEnd(documents))

  override handleText = (...[text, id]: Told<'handleText'>): Telling =>
    this.#tell((runs) => runs.any(id)?.handleText(text))

  override handleCustomEvent = (...[event, data, id, tags, metadata]: Told<'handleCustomEvent'>): Telling =>
    this.#tell((runs) =>
      runs.managerOf({ id, parent: id, tags, metadata }).handleCustomEvent?.(event, data, runs.idOf(id)),
    )

  /** What a runnable streams passes through this. */
  async *tapOutputIterable<Chunk>(id: string, output: AsyncGenerator<Chunk>): AsyncGenerator<Chunk> {
    try {
      for await (const chunk of output) {
        await this.#tell((runs) => runs.streamed(id, chunk))
        yield chunk
      }
    } finally {
      // A run whose reader stops early reports no end.
      await this.#tell((runs) => runs.streamEnded(id))
    }
  }
}
