/** Reports the runs of an early call as if the tools node had made them: its callbacks, parent, tags and metadata. */

import {
  CallbackManager,
  type CallbackManagerForChainRun,
  type CallbackManagerForLLMRun,
  type CallbackManagerForRetrieverRun,
  type CallbackManagerForToolRun,
} from '@langchain/core/callbacks/manager'
import { withId } from './call-id.ts'
import type { NodeConfig } from './library.ts'

export type Report = (runs: ReportedRuns) => unknown

/** How the agent executes the call. */
export interface Asked {
  readonly config: NodeConfig
  readonly id: string | undefined
}

/** What the early call got. */
export interface Early {
  readonly id: string | undefined
  /** The run that its runs belong to: that of the model's node. */
  readonly parent: string | undefined
  /** Of the model's node, with what must not be read yet replaced. */
  readonly config: NodeConfig
}

/** A run as the early call has reported it. */
export interface EarlyRun {
  readonly id: string
  readonly parent: string | undefined
  readonly tags: readonly string[] | undefined
  readonly metadata: Readonly<Record<string, unknown>> | undefined
}

export type Run =
  | CallbackManagerForChainRun
  | CallbackManagerForLLMRun
  | CallbackManagerForRetrieverRun
  | CallbackManagerForToolRun

export class ReportedRuns {
  readonly #early: Early
  readonly #asked: Asked
  readonly #node: CallbackManager
  readonly #runs = new Map<string, Run>()
  /** What runs stream, by the id of the run. */
  readonly #streams = new Map<string, readonly StreamedChunks[]>()

  constructor(early: Early, asked: Asked) {
    const { callbacks, tags, metadata } = asked.config
    this.#early = early
    this.#asked = asked
    this.#node = CallbackManager.configure(callbacks, undefined, tags, undefined, metadata) ?? new CallbackManager()
  }

  async begin(run: EarlyRun, begin: (manager: CallbackManager) => Promise<Run | readonly Run[]>): Promise<void> {
    const begun = await begin(this.managerOf(run))
    const [one] = Array.isArray(begun) ? begun : [begun]
    if (one) this.#runs.set(run.id, one)
  }

  /** The run with this id. */
  of<Kind extends Run>(kind: abstract new (...parts: never) => Kind, id: string): Kind | undefined {
    const run = this.#runs.get(id)
    return run instanceof kind ? run : undefined
  }

  any(id: string): Run | undefined {
    return this.#runs.get(id)
  }

  /** Reports a run with what it would have inherited from the tools node, instead of from the model's. */
  managerOf({ parent, tags = [], metadata = {} }: EarlyRun): CallbackManager {
    const node = this.#node
    const isFirst = parent === this.#early.parent
    const inherited = isFirst ? node : { tags: node.inheritableTags, metadata: node.inheritableMetadata }
    const handlers = [...(isFirst ? node.handlers : node.inheritableHandlers)]
    const early = this.#early.config
    const kept = tags.filter((tag) => !early.tags?.includes(tag) || inherited.tags.includes(tag))
    const added = Object.entries(metadata).filter(([key, value]) => early.metadata?.[key] !== value)
    return new CallbackManager(isFirst ? node.getParentRunId() : parent, {
      handlers,
      inheritableHandlers: handlers,
      tags: [...inherited.tags.filter((tag) => !kept.includes(tag)), ...kept],
      inheritableTags: [],
      metadata: { ...inherited.metadata, ...Object.fromEntries(added) },
      inheritableMetadata: {},
    })
  }

  /** What a model reports of its options: they contain the config of the call. */
  extra(extra: Record<string, unknown> | undefined): Record<string, unknown> | undefined {
    if (!isRecord(extra?.options)) return extra
    const [early, asked]: readonly unknown[] = [this.#early.config, this.#asked.config]
    if (!isRecord(early) || !isRecord(asked)) return extra
    const options = Object.entries(extra.options).map(([key, value]) => [
      key,
      value === early[key] ? asked[key] : value,
    ])
    return { ...extra, options: Object.fromEntries(options) }
  }

  /** The id of a run: instead of the model's node, the tools node. */
  idOf(run: string): string {
    return run === this.#early.parent ? (this.#node.getParentRunId() ?? run) : run
  }

  /** The id of a call, which is another one if the early call was made for a request that has failed. */
  callId(id: string | undefined): string | undefined {
    return id === this.#early.id ? this.#asked.id : id
  }

  /** The output of a tool, with the id of the accepted call. */
  output(output: unknown): unknown {
    const { id } = this.#asked
    return id === this.#early.id ? output : withId(output, id)?.output
  }

  /** A runnable has streamed a chunk, and a handler of `streamEvents` passes it on. */
  async streamed(id: string, chunk: unknown): Promise<void> {
    const handlers: readonly object[] = this.#node.handlers
    const streams = this.#streams.get(id) ?? handlers.filter(isTapping).map((one) => new StreamedChunks(one, id))
    this.#streams.set(id, streams)
    for (const stream of streams) await stream.add(chunk)
  }

  /** A runnable streams no more: it has ended, has failed, or its reader has stopped. */
  async streamEnded(id: string): Promise<void> {
    for (const stream of this.#streams.get(id) ?? []) await stream.end()
    this.#streams.delete(id)
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** A handler that reports the chunks of a stream which passes through it. */
interface Tapping {
  tapOutputIterable(run: string, chunks: AsyncGenerator<unknown>): AsyncGenerator<unknown>
}

/** Whether LangChain may pass streams through a handler. */
export function isTapping(handler: object): handler is Tapping {
  return 'tapOutputIterable' in handler && typeof handler.tapOutputIterable === 'function'
}

class StreamedChunks {
  #unread: unknown[] = []
  readonly #read: AsyncGenerator<unknown>

  constructor(handler: Tapping, run: string) {
    this.#read = handler.tapOutputIterable(run, this.#chunks())
  }

  async add(chunk: unknown): Promise<void> {
    // If the handler has stopped reading, nobody takes the one before.
    this.#unread = [chunk]
    await this.#read.next()
  }

  async end(): Promise<void> {
    await this.#read.next()
  }

  /** Each chunk is there before it is read; if there is none, the stream has ended. */
  async *#chunks(): AsyncGenerator<unknown> {
    while (this.#unread.length > 0) yield this.#unread.shift()
  }
}
