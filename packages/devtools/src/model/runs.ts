/** Makes runs of spans: the same runs for the same spans, in whatever order and however often they arrived. */

import type { Attributes, Span } from '../span.ts'
import { number, present, text } from './attributes.ts'
import { errorOf, modelOf, stateOf, sumOf } from './facts.ts'
import { dialectOf } from './kinds.ts'
import { promptOf } from './messages.ts'
import type { Request, Run, Step } from './run.ts'
import { type Parts, stepsOf, waitingIn } from './steps.ts'
import { keyOf, type SpanTree, spanTree } from './tree.ts'

const MOST_TITLE = 200

/** The runs that are not inside others, latest first. The spans are distinct: {@link latest} picks them. */
export function runsOf(spans: readonly Span[]): Run[] {
  const tree = spanTree(spans)
  const owners = ownersOf(tree)
  const parts = new Map<Span, Parts>([...owners.roots].map((root) => [root, { responses: [], tools: [] }]))
  for (const span of tree.spans) {
    const kind = tree.kind(span)
    if (kind !== 'response' && kind !== 'tool') continue
    const own = parts.get(owners.of(span))
    if (kind === 'response') own?.responses.push(span)
    else own?.tools.push(span)
  }

  const inside = new Map<Span, Run[]>()
  const whole: Run[] = []
  // Innermost first: a call contains the runs of its agents.
  for (const root of innermostFirst(owners.roots, tree)) {
    const own = parts.get(root) ?? { responses: [], tools: [] }
    const outer = owners.isSynthetic(root) ? undefined : tree.above(root)
    const run = runOf(root, own, tree, { inside, synthetic: owners.isSynthetic(root) })
    if (!outer) whole.push(run)
    else inside.set(outer, [...(inside.get(outer) ?? []), run].sort(byStart))
  }
  return whole.filter(({ synthetic, steps }) => !synthetic || steps.length > 0).sort((a, b) => byStart(b, a))
}

/** Of the spans with the same id the last one, but an open one never replaces one that has ended. */
export function latest(spans: readonly Span[]): Span[] {
  const known = new Map<string, Span>()
  for (const span of spans) {
    const key = keyOf(span)
    const earlier = known.get(key)
    if (!earlier || !(earlier.end !== undefined && span.end === undefined)) known.set(key, span)
  }
  return [...known.values()]
}

interface Owners {
  /** The spans that stand for a run. */
  readonly roots: ReadonlySet<Span>
  of(span: Span): Span
  isSynthetic(root: Span): boolean
}

/** A response or a tool without a run above it belongs to a run that is invented for its trace. */
function ownersOf(tree: SpanTree): Owners {
  const parts = tree.spans.filter((span) => tree.kind(span) === 'response' || tree.kind(span) === 'tool')
  const tops = new Set(parts.filter((span) => !tree.run(span)).map(tree.top))
  const invented = new Map<string, Span>()
  for (const top of tree.spans) {
    if (tops.has(top) && !invented.has(top.traceId)) invented.set(top.traceId, top)
  }
  const synthetic = new Set(invented.values())
  return {
    roots: new Set([...tree.spans.filter((span) => tree.kind(span) === 'run'), ...synthetic]),
    of: (span) => tree.run(span) ?? invented.get(span.traceId) ?? span,
    isSynthetic: (root) => synthetic.has(root),
  }
}

/** The deepest first. A clock may differ from another one, so it is not enough that the inner one began later. */
function innermostFirst(roots: ReadonlySet<Span>, tree: SpanTree): Span[] {
  const depths = new Map<Span, number>()
  for (const root of roots) {
    const way: Span[] = []
    for (let at: Span | undefined = root; at && !depths.has(at); at = tree.above(at)) way.push(at)
    const last = way.at(-1)
    let depth = depths.get((last && tree.above(last)) ?? root) ?? 0
    for (const one of way.reverse()) depths.set(one, ++depth)
  }
  return [...roots].sort((a, b) => (depths.get(b) ?? 0) - (depths.get(a) ?? 0))
}

interface Around {
  readonly inside: ReadonlyMap<Span, readonly Run[]>
  readonly synthetic: boolean
}

function runOf(root: Span, parts: Parts, tree: SpanTree, { inside, synthetic }: Around): Run {
  const { attributes, resource } = root
  const dialect = dialectOf(synthetic ? (parts.responses[0] ?? parts.tools[0] ?? root) : root)
  const state = synthetic ? 'completed' : stateOf(root)
  const steps = withWaiting(
    stepsOf(parts, tree, (tool) => inside.get(tool) ?? []),
    state === 'interrupted' ? waitingIn(parts) : [],
  )
  const responses = steps.flatMap((step) => step.responses)
  const first = parts.responses[0]
  const prompt = promptOf(attributes) ?? (first && promptOf(first.attributes))
  const agent = agentOf(root, synthetic)
  const model = text(attributes, 'gen_ai.request.model') ?? (first && modelOf(first.attributes))
  const saved = number(attributes, 'meanwhile.time_saved')
  const all = [root, ...parts.responses, ...parts.tools]
  const end = synthetic ? endOf(all) : root.end
  const link = attributes['meanwhile.run.resumed'] === true ? root.links[0] : undefined
  return {
    key: keyOf(root),
    dialect,
    early: dialect === 'meanwhile' || steps.some(({ calls }) => calls.some(({ early }) => early)),
    service: text(resource, 'service.name') ?? '',
    state: synthetic && end === undefined ? 'running' : state,
    start: Math.min(...all.map(({ start }) => start)),
    steps,
    // The top of an invented run may be a call, which contains the runs of its agents itself.
    inner: synthetic ? [] : (inside.get(root) ?? []),
    usage: sumOf(responses.map(({ usage }) => usage)),
    calls: steps.reduce((sum, step) => sum + step.calls.length, 0),
    errors: errorsOf(steps),
    hasContent: prompt !== undefined || steps.some(hasContent),
    impossible: tree.impossible.filter(({ traceId }) => traceId === root.traceId).length,
    synthetic,
    ...present({
      agent,
      model,
      end,
      prompt,
      error: synthetic ? undefined : errorOf(root),
      title: (prompt ?? agent ?? model)?.slice(0, MOST_TITLE),
      conversation: text(attributes, 'gen_ai.conversation.id', 'session.id', 'langfuse.session.id'),
      saved: saved === undefined ? undefined : saved * 1_000,
      savedBySteps: savedBySteps(attributes),
      slots: number(attributes, 'meanwhile.tool_concurrency'),
      continues: link && keyOf(link),
    }),
  }
}

/** The last step has them. */
function withWaiting(steps: readonly Step[], waiting: readonly Request[]): readonly Step[] {
  return waiting.length === 0 ? steps : steps.map((step, n) => (n === steps.length - 1 ? { ...step, waiting } : step))
}

function agentOf({ attributes, name }: Span, synthetic: boolean): string | undefined {
  const told = text(attributes, 'gen_ai.agent.name', 'traceloop.workflow.name', 'ai.telemetry.functionId')
  // LangChain's root span has the name of the agent.
  return told ?? (!synthetic && attributes['openinference.span.kind'] !== undefined ? name : undefined)
}

function endOf(spans: readonly Span[]): number | undefined {
  const ends = spans.map(({ end }) => end)
  return ends.includes(undefined) ? undefined : ends.reduce<number>((last, end) => Math.max(last, end ?? 0), 0)
}

function savedBySteps(attributes: Attributes): readonly number[] | undefined {
  const steps = attributes['meanwhile.time_saved.steps']
  return Array.isArray(steps) ? steps.map((seconds) => Number(seconds) * 1_000) : undefined
}

function errorsOf(steps: readonly Step[]): number {
  return steps.reduce(
    (sum, { responses, calls }) =>
      sum +
      responses.filter(({ state }) => state === 'failed').length +
      calls.flatMap(({ executions }) => executions).filter(({ error }) => error !== undefined).length,
    0,
  )
}

function hasContent({ responses, calls }: Step): boolean {
  return (
    responses.some(({ text: written }) => written !== undefined) ||
    calls.some(({ input, output }) => input !== undefined || output !== undefined)
  )
}

function byStart(
  a: { readonly start: number; readonly key: string },
  b: { readonly start: number; readonly key: string },
) {
  return a.start - b.start || (a.key < b.key ? -1 : 1)
}
