/** What single spans tell about responses and calls, whatever instrumentation made them. */

import type { Attributes, Span } from '../span.ts'
import { content, members, number, present, text } from './attributes.ts'
import { writtenBy } from './messages.ts'
import type { Call, Execution, Fate, Response, Run, RunState, Usage, Wait } from './run.ts'

export function responseOf(span: Span): Response {
  const { spanId, start, end, attributes } = span
  const first = firstOf(span)
  return {
    spanId,
    attempt: number(attributes, 'meanwhile.attempt') ?? 1,
    start,
    state: stateOf(span),
    usage: usageOf(attributes),
    ...writtenBy(attributes),
    ...present({
      first,
      end,
      model: modelOf(attributes),
      error: errorOf(span),
    }),
  }
}

export function stateOf({ end, status, attributes }: Span): RunState {
  if (end === undefined) return 'running'
  const outcome = text(attributes, 'meanwhile.outcome')
  if (outcome === 'failed' || outcome === 'cancelled' || outcome === 'interrupted') return outcome
  return status === ERROR ? 'failed' : 'completed'
}

const ERROR = 2

export function modelOf(attributes: Attributes): string | undefined {
  return text(attributes, 'gen_ai.response.model', 'gen_ai.request.model', 'llm.model_name', 'ai.model.id')
}

function firstOf({ start, attributes, events }: Span): number | undefined {
  const seconds = number(
    attributes,
    'gen_ai.response.time_to_first_chunk',
    'gen_ai.client.operation.time_to_first_chunk',
  )
  if (seconds !== undefined) return start + seconds * 1_000
  const milliseconds = number(attributes, 'ai.response.msToFirstChunk')
  if (milliseconds !== undefined) return start + milliseconds
  return events.find(({ name }) => /first.?(token|chunk)/i.test(name))?.at
}

function usageOf(attributes: Attributes): Usage {
  return present({
    input: number(attributes, 'gen_ai.usage.input_tokens', 'llm.token_count.prompt', 'ai.usage.promptTokens'),
    output: number(attributes, 'gen_ai.usage.output_tokens', 'llm.token_count.completion', 'ai.usage.completionTokens'),
    cacheRead: number(attributes, 'gen_ai.usage.cache_read.input_tokens', 'llm.token_count.prompt_details.cache_read'),
    reasoning: number(
      attributes,
      'gen_ai.usage.reasoning.output_tokens',
      'llm.token_count.completion_details.reasoning',
    ),
  })
}

/** The sum of counts; a count that nothing told stays absent. */
export function sumOf(all: readonly Usage[]): Usage {
  const sum = (count: keyof Usage) =>
    all.reduce<number | undefined>(
      (so, usage) => (usage[count] === undefined ? so : (so ?? 0) + usage[count]),
      undefined,
    )
  return present({
    input: sum('input'),
    output: sum('output'),
    cacheRead: sum('cacheRead'),
    reasoning: sum('reasoning'),
  })
}

/** The first line of the error: some instrumentations write the stack after it. */
export function errorOf({ status, message, events, attributes }: Span): string | undefined {
  if (status !== ERROR) return undefined
  const exception = events.findLast(({ name }) => name === 'exception')
  const told = exception && text(exception.attributes, 'exception.message')
  return (told ?? message ?? text(attributes, 'error.type') ?? 'error').split('\n')[0]
}

/** One execution, and what its span tells about its call. */
export function executionOf(span: Span): Execution {
  const { spanId, start, attributes } = span
  const end = endOf(span)
  return {
    spanId,
    attempt: number(attributes, 'meanwhile.attempt') ?? 1,
    start,
    ...present({ end, error: errorOf(span) }),
  }
}

/** While its response runs, the span of an early call is open although its function has ended. */
function endOf({ start, end, attributes }: Span): number | undefined {
  const duration = number(attributes, 'meanwhile.tool.duration')
  return end ?? (duration === undefined ? undefined : start + duration * 1_000)
}

export const callIdOf = (attributes: Attributes): string | undefined =>
  text(attributes, 'gen_ai.tool.call.id', 'ai.toolCall.id')

export const toolOf = ({ attributes, name }: Span): string =>
  text(attributes, 'gen_ai.tool.name', 'tool.name', 'ai.toolCall.name') ?? name

/** The call whose executions these spans are, in order. There is at least one. `waited`: other spans of it, which may tell more of it. */
export function callOf(key: string, spans: readonly Span[], waited: readonly Span[], inner: readonly Run[]): Call {
  const [first, last] = [spans[0], spans.at(-1)]
  if (!first || !last) throw new RangeError('a call has at least one execution')
  const executions = spans.map(executionOf)
  const told = <Fact>(read: (attributes: Attributes) => Fact | undefined): Fact | undefined =>
    [...spans, ...waited].map(({ attributes }) => read(attributes)).find((fact) => fact !== undefined)
  const ends = executions.map(({ end }) => end)
  const end = ends.some((one) => one === undefined) ? undefined : Math.max(...ends.map((one) => one ?? 0))
  const closed = closedOf(first)
  const committed = commitOf(last, end)
  const failed = executions.at(-1)?.error !== undefined
  const fate = fateOf(last, end, failed)
  return {
    key,
    id: callIdOf(first.attributes) ?? first.spanId,
    tool: toolOf(first),
    executions,
    start: first.start,
    waits: waitsOf(first, last, { closed, end, committed }),
    early: spans.some(({ attributes }) => attributes['meanwhile.dispatch.mode'] === 'early'),
    fate,
    undone: spans.some(({ attributes }) => attributes['meanwhile.compensated'] === true),
    inner,
    ...present({
      end,
      closed,
      stood: stoodOf(first) ?? (fate === 'discarded' ? undefined : committed),
      effect: told((attributes) => text(attributes, 'meanwhile.tool.effect')),
      evidence: text(first.attributes, 'meanwhile.dispatch.evidence'),
      deferral: text(first.attributes, 'meanwhile.dispatch.deferral_reason'),
      reason: text(last.attributes, 'meanwhile.discard.reason'),
      input: told(inputOf),
      output: [last, ...waited].map(({ attributes }) => outputOf(attributes)).find((output) => output !== undefined),
      error: executions.at(-1)?.error,
    }),
  }
}

/** When the arguments were complete, counted back from what the call waited for. */
function closedOf({ start, attributes }: Span): number | undefined {
  const evidence = text(attributes, 'meanwhile.dispatch.evidence')
  const lag = number(attributes, 'meanwhile.dispatch.lag')
  const isEvidence = lag !== undefined && (evidence === 'closed' || evidence === 'sealed')
  const closed = number(attributes, 'meanwhile.arguments.closed') ?? (isEvidence ? 0 : undefined)
  return closed === undefined ? undefined : start - (closed + (lag ?? 0)) * 1_000
}

/** When the response was accepted, as a call tells it that waited for that. */
function stoodOf({ start, attributes }: Span): number | undefined {
  const lag = number(attributes, 'meanwhile.dispatch.lag')
  const waited = text(attributes, 'meanwhile.dispatch.evidence') === 'model_stood'
  return lag !== undefined && waited ? start - lag * 1_000 : undefined
}

function commitOf({ attributes }: Span, end: number | undefined): number | undefined {
  const lag = number(attributes, 'meanwhile.commit.lag')
  return lag === undefined || end === undefined ? undefined : end + lag * 1_000
}

interface Times {
  readonly closed: number | undefined
  readonly end: number | undefined
  readonly committed: number | undefined
}

function waitsOf(first: Span, last: Span, { closed, end, committed }: Times): Wait[] {
  const queued = (number(first.attributes, 'meanwhile.dispatch.queued') ?? 0) * 1_000
  const rest = (number(last.attributes, 'meanwhile.rest.waited') ?? 0) * 1_000
  const waits: Wait[] = []
  if (queued > 1) waits.push({ kind: 'slot', from: first.start - queued, to: first.start })
  if (rest > 0 && closed !== undefined) waits.push({ kind: 'rest', from: closed - rest, to: closed })
  if (committed !== undefined && end !== undefined && committed - end > 1) {
    waits.push({ kind: 'commit', from: end, to: committed })
  }
  return waits
}

const FATES: ReadonlySet<string | undefined> = new Set<Fate>([
  'committed',
  'failed',
  'discarded',
  'cancelled',
  'interrupted',
  'abandoned',
])

function fateOf({ end: ended, attributes }: Span, end: number | undefined, failed: boolean): Fate {
  const outcome = text(attributes, 'meanwhile.outcome')
  if (FATES.has(outcome)) return outcome as Fate
  if (ended === undefined && end === undefined) return 'running'
  return failed ? 'failed' : 'committed'
}

function inputOf(attributes: Attributes): unknown {
  const told = content(attributes, 'gen_ai.tool.call.arguments', 'ai.toolCall.args', 'traceloop.entity.input')
  return told ?? (isOpenInference(attributes) ? content(attributes, 'input.value') : undefined)
}

function outputOf(attributes: Attributes): unknown {
  const told = content(attributes, 'gen_ai.tool.call.result', 'ai.toolCall.result', 'traceloop.entity.output')
  if (told !== undefined || !isOpenInference(attributes)) return told
  const output = content(attributes, 'output.value')
  // LangChain records the whole message: `{ output: { lc, kwargs: { content } } }`.
  const { output: message } = members(output)
  const { kwargs } = members(message)
  return members(kwargs).content ?? output
}

const isOpenInference = (attributes: Attributes): boolean => attributes['openinference.span.kind'] !== undefined
