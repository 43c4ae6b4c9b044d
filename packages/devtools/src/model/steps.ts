/** The steps of a run: which responses and which calls belong together. */

import type { Span } from '../span.ts'
import { number, text } from './attributes.ts'
import { callIdOf, callOf, responseOf, toolOf } from './facts.ts'
import { requestedBy } from './messages.ts'
import type { Call, Request, Run, Step } from './run.ts'
import type { SpanTree } from './tree.ts'

/** The spans of one run, in order of their start. */
export interface Parts {
  readonly responses: Span[]
  readonly tools: Span[]
}

/** `inner` returns the agents that ran inside the span of a tool. */
export function stepsOf({ responses, tools }: Parts, tree: SpanTree, inner: (tool: Span) => readonly Run[]): Step[] {
  const numbers = stepNumbers([...responses, ...tools], tree)
  const placed = placeResponses(responses, numbers)
  const steps = new Map<number, { responses: Span[]; tools: Span[] }>()
  const at = (index: number) => {
    const known = steps.get(index) ?? { responses: [], tools: [] }
    steps.set(index, known)
    return known
  }
  for (const { span, index } of placed) at(index).responses.push(span)
  let before = 0
  for (const span of tools) {
    while (before < placed.length && (placed[before]?.span.start ?? 0) <= span.start) before++
    // Without a number it belongs to the latest response that began before it.
    at(numbers(span) ?? placed[Math.max(0, before - 1)]?.index ?? 1).tools.push(span)
  }
  return [...steps]
    .sort(([a], [b]) => a - b)
    .map(([index, parts]) => ({
      index,
      responses: parts.responses.map(responseOf),
      calls: withNames(callsOf(index, parts.tools, inner), parts.tools),
    }))
}

/** Of an interrupted run the calls that its last response asks for and that have no span: they wait for an answer, or behind a call that does. */
export function waitingIn({ responses, tools }: Parts): readonly Request[] {
  const begun = new Set(tools.map(({ attributes }) => callIdOf(attributes)))
  return requestedBy(responses.at(-1)?.attributes ?? {}).filter(({ id }) => !begun.has(id))
}

/** The number of a step that a span tells by itself, or by the span of a step that it is inside. */
function stepNumbers(spans: readonly Span[], tree: SpanTree): (span: Span) => number | undefined {
  const around = new Set(spans.map((span) => tree.step(span)).filter((step) => step !== undefined))
  const inOrder = tree.spans.filter((span) => around.has(span))
  const numbers = new Map(inOrder.map((step, before) => [step, before + 1]))
  return (span) => {
    const step = tree.step(span)
    return number(span.attributes, 'meanwhile.step.index') ?? (step && numbers.get(step))
  }
}

interface Placed {
  readonly span: Span
  readonly index: number
}

/** A response without a number opens a step, unless it runs at the same time as an earlier one. */
function placeResponses(responses: readonly Span[], numbers: (span: Span) => number | undefined): Placed[] {
  let count = 0
  let busyUntil = Number.NEGATIVE_INFINITY
  return responses.map((span) => {
    const told = numbers(span)
    if (told !== undefined) return { span, index: told }
    if (span.start >= busyUntil) count++
    busyUntil = Math.max(busyUntil, span.end ?? Number.POSITIVE_INFINITY)
    return { span, index: count }
  })
}

/**
 * Executions with the same call id are one call. But two with the same id and the same number are two calls: one that was discarded, and
 * its successor.
 */
function callsOf(step: number, tools: readonly Span[], inner: (tool: Span) => readonly Run[]): Call[] {
  const groups: Span[][] = []
  const latest = new Map<string, Span[]>()
  const waits = waitsForEarly(tools)
  const waiting = new Set(waits.values())
  for (const span of tools) {
    if (waiting.has(span)) continue
    const id = callIdOf(span.attributes) ?? span.spanId
    const known = latest.get(id)
    if (known && !known.some((other) => attemptOf(other) === attemptOf(span))) {
      known.push(span)
      continue
    }
    const group = [span]
    latest.set(id, group)
    groups.push(group)
  }
  return groups.map((spans) => {
    const first = spans[0]
    const executions = [...spans].sort((a, b) => attemptOf(a) - attemptOf(b) || a.start - b.start)
    const waited = executions.flatMap((span) => waits.get(span) ?? [])
    return callOf(`${step}-${first?.spanId}`, executions, waited, [...executions, ...waited].flatMap(inner))
  })
}

/**
 * By the span of a call that `eager()` had started, that of the library, which only waited for it. Without call ids the first one to end of the
 * same tool: waiting is short.
 */
function waitsForEarly(tools: readonly Span[]): ReadonlyMap<Span, Span> {
  const modeOf = ({ attributes }: Span) => text(attributes, 'meanwhile.dispatch.mode')
  /** By the id of their call, or without one by their tool. The first to end is last. */
  const theirs = new Map<string, Span[]>()
  const others = tools.filter((span) => modeOf(span) === undefined).sort((a, b) => endOf(b) - endOf(a))
  for (const span of others) {
    const key = callIdOf(span.attributes) ?? `of ${toolOf(span)}`
    const known = theirs.get(key)
    if (known) known.push(span)
    else theirs.set(key, [span])
  }
  const waits = new Map<Span, Span>()
  for (const early of tools) {
    if (modeOf(early) !== 'early' || text(early.attributes, 'meanwhile.outcome') === 'discarded') continue
    const wait = theirs.get(callIdOf(early.attributes) ?? '')?.pop() ?? theirs.get(`of ${toolOf(early)}`)?.pop()
    if (wait) waits.set(early, wait)
  }
  return waits
}

const endOf = ({ end = Number.POSITIVE_INFINITY }: Span): number => end

const attemptOf = ({ attributes }: Span): number => number(attributes, 'meanwhile.attempt') ?? 1

/** A call that waited behind another one gets the name of that one's tool. */
function withNames(calls: readonly Call[], tools: readonly Span[]): readonly Call[] {
  const awaited = new Map(
    tools.map(({ attributes }) => [callIdOf(attributes), text(attributes, 'meanwhile.dispatch.waited_for')]),
  )
  const names = new Map(calls.map(({ id, tool }) => [id, tool]))
  return calls.map((call) => {
    const waitedFor = names.get(awaited.get(call.id) ?? '')
    return waitedFor === undefined ? call : { ...call, waitedFor }
  })
}
