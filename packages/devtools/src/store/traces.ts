/** Keeps the spans that arrived, by trace, within a bound, and makes their runs when somebody asks. */

import { kindOf } from '../model/kinds.ts'
import type { Run } from '../model/run.ts'
import { latest, runsOf } from '../model/runs.ts'
import { isList, type Span, type Value } from '../span.ts'

/** The bounds of a {@link Traces}. */
export interface Bounds {
  /** The number of traces with runs, and of traces without. Default 500. */
  readonly traces?: number
  /** The estimated bytes of all spans, also of those of one trace. Default 256 MiB. */
  readonly bytes?: number
  /** The spans of one trace; more are counted and not kept. Default 50,000. */
  readonly spans?: number
}

/** The program that sent a span, as the processor for development names it. */
export interface Sender {
  readonly process: string
  /** Whether the program has a connection. */
  isConnected(): boolean
}

/** What changed. */
export interface News {
  /** The traces with new spans. */
  readonly changed: ReadonlySet<string>
  /** The keys of runs that are no longer kept. */
  readonly gone: readonly string[]
}

interface Trace {
  readonly id: string
  readonly spans: Map<string, Span>
  /** The programs that told the spans that are open. */
  readonly senders: Map<string, Sender>
  bytes: number
  /** Whether it has a run, a response or a call. */
  hasParts: boolean
  open: number
  /** How many spans were not kept. */
  dropped: number
  version: number
  touched: number
  isLost: boolean
  runs: readonly Run[] | undefined
}

const LOST_AFTER_MS = 30 * 60_000

export class Traces {
  readonly #bounds: Required<Bounds>
  /** In order of their last news. */
  readonly #traces = new Map<string, Trace>()
  readonly #watchers = new Set<(news: News) => void>()
  readonly #clock: () => number
  /** The id of the trace with the last news. */
  #latest = ''
  #bytes = 0
  #versions = 0
  #withParts = 0
  received = 0
  evicted = 0

  constructor(
    { traces = 500, bytes = 256 * 1024 * 1024, spans = 50_000 }: Bounds = {},
    clock: () => number = Date.now,
  ) {
    this.#bounds = { traces, bytes, spans }
    this.#clock = clock
  }

  /** Adds spans. A span that is here already is replaced, but an open one never replaces one that has ended. */
  add(spans: readonly Span[], sender?: Sender): void {
    const changed = new Set<string>()
    const gone: string[] = []
    for (const span of spans) {
      if (this.#addOne(span, sender)) changed.add(span.traceId)
      // After each span, because a file may have many more traces than are kept.
      gone.push(...this.#evict())
    }
    if (sender) for (const id of this.#loseOthers(spans[0], sender)) changed.add(id)
    if (changed.size > 0 || gone.length > 0) for (const watch of this.#watchers) watch({ changed, gone })
  }

  /** Calls back after each change. The returned function ends that. */
  watch(watcher: (news: News) => void): () => void {
    this.#watchers.add(watcher)
    return () => void this.#watchers.delete(watcher)
  }

  /** All runs, latest first. */
  runs(): Run[] {
    return [...this.#traces.keys()].flatMap((id) => this.runsOf(id)).sort((a, b) => b.start - a.start)
  }

  /** The runs of a trace, latest first. */
  runsOf(traceId: string): readonly Run[] {
    const trace = this.#traces.get(traceId)
    if (!trace?.hasParts) return []
    trace.runs ??= runsOf(latest([...trace.spans.values()]))
    const isLost = trace.isLost || (trace.open > 0 && this.#clock() - trace.touched > LOST_AFTER_MS)
    return isLost ? trace.runs.map(lost) : trace.runs
  }

  spansOf(traceId: string): readonly Span[] {
    return [...(this.#traces.get(traceId)?.spans.values() ?? [])]
  }

  span(traceId: string, spanId: string): Span | undefined {
    return this.#traces.get(traceId)?.spans.get(spanId)
  }

  /** Another number after each change of the trace. */
  version(traceId: string): number {
    return this.#traces.get(traceId)?.version ?? 0
  }

  /** The number of spans of a trace that were not kept. */
  dropped(traceId: string): number {
    return this.#traces.get(traceId)?.dropped ?? 0
  }

  /** The estimated size of everything. */
  get bytes(): number {
    return this.#bytes
  }

  #addOne(span: Span, sender: Sender | undefined): boolean {
    this.received++
    const trace = this.#traceOf(span.traceId)
    const known = trace.spans.get(span.spanId)
    const isOpen = span.end === undefined
    if (known && known.end !== undefined && isOpen) return false
    if (!known && (trace.spans.size >= this.#bounds.spans || trace.bytes >= this.#bounds.bytes)) {
      trace.dropped++
      return true
    }
    trace.spans.set(span.spanId, span)
    if (sender && isOpen) trace.senders.set(sender.process, sender)
    trace.open += Number(isOpen) - Number(known !== undefined && known.end === undefined)
    const grown = sizeOf(span) - (known ? sizeOf(known) : 0)
    trace.bytes += grown
    this.#bytes += grown
    if (!trace.hasParts && kindOf(span) !== 'other') {
      trace.hasParts = true
      this.#withParts++
    }
    return true
  }

  #traceOf(id: string): Trace {
    const trace = this.#traces.get(id) ?? {
      id,
      spans: new Map(),
      senders: new Map(),
      bytes: 0,
      hasParts: false,
      open: 0,
      dropped: 0,
      version: 0,
      touched: 0,
      isLost: false,
      runs: undefined,
    }
    trace.version = ++this.#versions
    trace.touched = this.#clock()
    trace.isLost = false
    trace.runs = undefined
    this.#traces.delete(id)
    this.#traces.set(id, trace)
    this.#latest = id
    return trace
  }

  /** A program that was started again does not end the spans of its earlier process. */
  #loseOthers(first: Span | undefined, { process }: Sender): string[] {
    const service = first?.resource['service.name']
    if (service === undefined) return []
    const running = [...this.#traces.values()].filter(({ open, isLost }) => open > 0 && !isLost)
    const left = running.filter(({ senders, spans }) => {
      const others = [...senders.values()]
      if (others.length === 0 || others.some((one) => one.process === process || one.isConnected())) return false
      return [...spans.values()][0]?.resource['service.name'] === service
    })
    for (const trace of left) {
      trace.isLost = true
      trace.version = ++this.#versions
    }
    return left.map(({ id }) => id)
  }

  /** Traces without runs leave first, then the oldest that has ended, then the oldest; the latest one stays. */
  #evict(): string[] {
    const gone: string[] = []
    for (;;) {
      const without = this.#traces.size - this.#withParts
      const isOver = this.#bytes > this.#bounds.bytes
      const tooMany = this.#withParts > this.#bounds.traces
      if (!isOver && !tooMany && without <= this.#bounds.traces) return gone
      const trace = this.#oldest({ withParts: tooMany && !isOver })
      if (!trace) return gone
      if (trace.hasParts) gone.push(...this.runsOf(trace.id).map(({ key }) => key))
      this.#traces.delete(trace.id)
      this.#bytes -= trace.bytes
      this.#withParts -= Number(trace.hasParts)
      this.evicted++
    }
  }

  #oldest({ withParts }: { readonly withParts: boolean }): Trace | undefined {
    let ended: Trace | undefined
    let running: Trace | undefined
    for (const trace of this.#traces.values()) {
      if (trace.id === this.#latest) continue
      if (!trace.hasParts) {
        if (!withParts) return trace
      } else if (trace.open === 0 || trace.isLost) ended ??= trace
      else running ??= trace
      if (ended && withParts) break
    }
    return ended ?? running
  }
}

function lost(run: Run): Run {
  return run.state === 'running' ? { ...run, state: 'lost' } : run
}

const SPAN_BYTES = 400

/** A measured 1.4 kB without content is estimated by this. */
function sizeOf({ name, attributes, events }: Span): number {
  const texts = weigh(attributes) + events.reduce((sum, event) => sum + event.name.length + weigh(event.attributes), 0)
  return SPAN_BYTES + 2 * (name.length + texts)
}

function weigh(value: Value): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 8
  if (isList(value)) return value.reduce<number>((sum, member) => sum + weigh(member), 0)
  return Object.entries(value).reduce((sum, [key, member]) => sum + key.length + weigh(member), 0)
}
