/** Random runs: the model's responses and failures, what the calls do, and the middleware around them. */

import type { Assembler } from '@meanwhile/assemble'
import { type AssistantPart, type FinishReason, type Middleware, ModelError } from '@meanwhile/core'
import fc from 'fast-check'
import type { Moment } from './telling-model.ts'

export interface CallInput {
  readonly n: number
  readonly ms: number
  readonly fails: boolean
  /** Ignores an abort and runs to its end. */
  readonly deaf: boolean
}

export interface CallPlan {
  readonly tool: string
  /** As an object, or as a text that no tool can use. */
  readonly input: CallInput | string
  readonly pieces: number
  readonly id: 'own' | 'none' | 'repeated'
  /** Sealed when it is complete, or when the response ends; with the same value as when it closed, or with another. */
  readonly sealed: 'at once' | 'at the end' | 'written otherwise' | 'changed' | 'with junk'
  /** Its last piece comes after the next part. */
  readonly straggles: boolean
}

export interface ResponsePlan {
  /** It repeats the parts of the previous one, or nearly so, and then has its own parts. */
  readonly echo: 'none' | 'same' | 'reversed' | 'without the first' | 'the first twice'
  readonly parts: readonly (CallPlan | string)[]
  /** Between two moments. */
  readonly gap: number
  readonly end: FinishReason | 'cut' | 'fails' | 'fails for good' | 'throws'
  /** How much of the response comes before its end. */
  readonly share: number
}

/** The calls that a tool with the effect `calls` makes. */
export interface Program {
  /** `stood` is not a call: the tool waits until its own call is accepted. */
  readonly calls: readonly { readonly tool: string; readonly ms: number }[]
  /** Otherwise one after the other. */
  readonly atOnce: boolean
  /** It fails if one of its calls has failed. */
  readonly insists: boolean
}

export interface Scenario {
  readonly responses: readonly ResponsePlan[]
  readonly repeats: number
  readonly waitMs: number
  readonly retry: 'outside' | 'inside'
  readonly toolConcurrency: number
  readonly maxSteps: number
  readonly edits: boolean
  readonly rejects: boolean
  /** No wrap around its calls needs their whole input. */
  readonly startsOnNeeds: boolean
  /** A guard answers some calls itself, this many milliseconds after the request. */
  readonly denies: number | undefined
  /** Reads of 2 end the run. */
  readonly fatal: boolean
  /** Repeats use another model. */
  readonly failover: boolean
  /** The outermost wrap passes each event on this many milliseconds late. */
  readonly late: number
  /** By the `n` of the call. */
  readonly programs: readonly Program[]
  /** How many calls of one maker may run at once. */
  readonly innerConcurrency: number
}

const callInput: fc.Arbitrary<CallInput> = fc.record({
  n: fc.constantFrom(0, 0, 1, 2),
  ms: fc.constantFrom(0, 7, 40, 130),
  fails: rarely(true, false),
  deaf: rarely(true, false),
})

const anyTool = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('look', 'peek', 'scan', 'put', 'open', 'open', 'glance') },
  { weight: 3, arbitrary: fc.constantFrom('fetch', 'fetch', 'store', 'store', 'wire', 'odd', 'leaf') },
  {
    weight: 2,
    arbitrary: fc.constantFrom('direct', 'move', 'send', 'mixed', 'nobody', 'relay', 'dispatch', 'forward'),
  },
  { weight: 1, arbitrary: fc.constantFrom('program', 'batch', 'script', 'helper') },
)

/** Mostly tools that call others, and calls that may conflict with them. */
const callingTool = fc.constantFrom(
  'program',
  'program',
  'batch',
  'batch',
  'script',
  'helper',
  'fetch',
  'wire',
  'store',
)

const callPlan = (tool: fc.Arbitrary<string>): fc.Arbitrary<CallPlan> =>
  fc.record({
    tool,
    input: fc.oneof(
      { weight: 15, arbitrary: callInput },
      fc.constantFrom('{}', '{"n":"one"}', '{"n":1,"ms":', '[1]', ''),
    ),
    pieces: fc.integer({ min: 1, max: 3 }),
    id: fc.constantFrom('own', 'none', 'repeated'),
    sealed: fc.constantFrom(
      'at once',
      'at once',
      'at once',
      'at the end',
      'at the end',
      'written otherwise',
      'changed',
      'with junk',
    ),
    straggles: rarely(true, false),
  })

const responsePlan = (tool: fc.Arbitrary<string>): fc.Arbitrary<ResponsePlan> =>
  fc.record({
    echo: fc.constantFrom(
      'none',
      'none',
      'same',
      'same',
      'reversed',
      'reversed',
      'without the first',
      'the first twice',
    ),
    parts: fc.array(fc.oneof({ weight: 4, arbitrary: callPlan(tool) }, fc.constantFrom('So.', 'One moment.')), {
      maxLength: 4,
    }),
    gap: fc.constantFrom(0, 3, 20),
    end: fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom('tool-calls' as const, 'stop' as const) },
      {
        weight: 4,
        arbitrary: fc.constantFrom('cut' as const, 'fails' as const, 'fails' as const, 'fails for good' as const),
      },
      {
        weight: 2,
        arbitrary: fc.constantFrom('length', 'content-filter', 'other', 'error', 'throws') as fc.Arbitrary<
          ResponsePlan['end']
        >,
      },
    ),
    share: fc.oneof(fc.constant(1), fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
  })

/** A response that fails, and an attempt with the same parts in reverse order: an early read may now be too early. */
const reordered: fc.Arbitrary<ResponsePlan[]> = fc
  .tuple(responsePlan(callingTool), responsePlan(callingTool))
  .map(([first, second]) => [
    { ...first, end: 'fails', share: 1 },
    { ...second, echo: 'reversed' },
  ])

const program: fc.Arbitrary<Program> = fc.record({
  calls: fc.array(
    fc.record({
      tool: fc.constantFrom('part', 'deed', 'mark', 'narrow', 'reading', 'reading', 'note', 'slip', 'stood'),
      ms: fc.constantFrom(0, 0, 11),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  atOnce: fc.boolean(),
  insists: rarely(true, false),
})

export const scenarios: fc.Arbitrary<Scenario> = fc.record({
  responses: fc.oneof(
    { weight: 4, arbitrary: responses(anyTool) },
    { weight: 1, arbitrary: fc.oneof(responses(callingTool), reordered) },
  ),
  repeats: fc.nat({ max: 3 }),
  waitMs: fc.constantFrom(0, 25, 200),
  retry: fc.constantFrom('outside', 'inside'),
  toolConcurrency: fc.constantFrom(1, 2, 3, Number.POSITIVE_INFINITY),
  maxSteps: fc.constantFrom(1, 2, 3, 20, 20, 20),
  edits: rarely(true, false),
  rejects: rarely(true, false),
  startsOnNeeds: rarely(false, true),
  denies: rarely<number | undefined>(0, undefined).chain((ms) => (ms === 0 ? fc.constantFrom(0, 30) : fc.constant(ms))),
  fatal: rarely(true, false),
  failover: fc.boolean(),
  late: fc.constantFrom(0, 0, 5),
  programs: fc.tuple(program, program, program),
  innerConcurrency: fc.constantFrom(1, 2, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY),
})

function responses(tool: fc.Arbitrary<string>): fc.Arbitrary<ResponsePlan[]> {
  return fc.array(responsePlan(tool), { minLength: 1, maxLength: 4 })
}

function rarely<T>(rare: T, usual: T): fc.Arbitrary<T> {
  return fc.oneof({ weight: 5, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constant(rare) })
}

/** The model's responses, request by request. */
export function told(responses: readonly ResponsePlan[]): Moment[][] {
  let before: ResponsePlan['parts'] = []
  return responses.map((response, index) => {
    before = [...echoed(response.echo, before), ...response.parts].slice(0, 6)
    return momentsOf({ ...response, parts: before }, index)
  })
}

function echoed(echo: ResponsePlan['echo'], parts: ResponsePlan['parts']): ResponsePlan['parts'] {
  switch (echo) {
    case 'none':
      return []
    case 'same':
      return parts
    case 'reversed':
      return parts.toReversed()
    case 'without the first':
      return parts.slice(1)
    case 'the first twice':
      return [...parts.slice(0, 1), ...parts]
  }
}

function momentsOf({ parts, gap, end, share }: ResponsePlan, index: number): Moment[] {
  const tells: ((to: Assembler) => void)[] = []
  let straggling: ((to: Assembler) => void)[] = []
  for (const [label, part] of parts.entries()) {
    const straggled = straggling
    straggling = []
    if (typeof part === 'string') tells.push((to) => to.text(part))
    else {
      const call = callMoments(part, label, `${index}`)
      if (part.straggles) straggling = call.splice(-2)
      tells.push(...call)
    }
    tells.push(...straggled)
  }
  tells.push(...straggling)
  const said = tells.slice(0, Math.ceil(tells.length * share))
  const last = ending(end)
  return [...said, ...(last ? [last] : [])].map((tell, moment) => [moment * gap, tell])
}

function callMoments({ tool, input, pieces, id, sealed }: CallPlan, label: number, index: string) {
  const text = typeof input === 'string' ? input : JSON.stringify(input)
  const changed = typeof input === 'string' ? '{"n":2}' : JSON.stringify({ ...input, n: (input.n + 1) % 3 })
  const otherwise = typeof input === 'string' ? text : ` ${JSON.stringify(input, ['deaf', 'fails', 'ms', 'n'], 1)}`
  const callId = { own: `c${index}_${label}`, none: undefined, repeated: `c${label}` }[id]
  const size = Math.ceil(text.length / pieces)
  const tells: ((to: Assembler) => void)[] = [(to) => to.call(label, { id: callId, name: tool })]
  for (let at = 0; at < text.length; at += size) {
    tells.push((to) => to.call(label, { delta: text.slice(at, at + size) }))
  }
  switch (sealed) {
    case 'at once':
      tells.push((to) => to.seal(label))
      break
    case 'written otherwise':
      tells.push((to) => to.seal(label, otherwise))
      break
    case 'changed':
      tells.push((to) => to.seal(label, changed))
      break
    case 'with junk':
      tells.push((to) => to.call(label, { delta: ' and so on' }))
  }
  return tells
}

function ending(end: ResponsePlan['end']): ((to: Assembler) => void) | undefined {
  switch (end) {
    case 'cut':
      return undefined
    case 'fails':
    case 'fails for good':
      return () => {
        throw new ModelError(end, { code: end, retryable: end === 'fails' })
      }
    case 'throws':
      return () => {
        throw new Error('the model threw')
      }
    default:
      return (to) => {
        to.usage({ inputTokens: 3, outputTokens: 5 })
        to.finish(end)
      }
  }
}

/** Removes the calls of 0, turns 1 into 2, and adds a call if there is one of 2. */
export const editing: Middleware = {
  name: 'editing',
  afterModel({ messages }, run) {
    const last = messages.at(-1)
    if (last?.role !== 'assistant') return
    const nOf = (part: AssistantPart) => {
      const input = part.type === 'tool-call' ? part.input : undefined
      return typeof input === 'object' && input !== null && 'n' in input ? input.n : undefined
    }
    const content = last.content
      .filter((part) => nOf(part) !== 0)
      .map((part) => (part.type === 'tool-call' && nOf(part) === 1 ? { ...part, input: { n: 2 } } : part))
    const added: AssistantPart = { type: 'tool-call', id: `added_${run.step}`, name: 'look', input: { n: 5 } }
    const adds = content.some((part) => nOf(part) === 2)
    return { messages: [...messages.slice(0, -1), { ...last, content: [...content, ...(adds ? [added] : [])] }] }
  },
}

/** Does not let calls of 1 through, except `fetch` and `look`; answers them after this many milliseconds. */
export function denying(ms: number): Middleware {
  return {
    name: 'denying',
    async *wrapToolCall(call, next) {
      const { input } = call
      const denied = typeof input === 'object' && input !== null && 'n' in input && input.n === 1
      if (!denied || call.name === 'fetch' || call.name === 'look') return yield* next(call)
      if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
      return {
        role: 'tool',
        callId: call.id,
        name: call.name,
        content: [{ type: 'text', text: 'denied' }],
        isError: true,
      }
    },
  }
}

/** Rejects the first answer. */
export function rejecting(): Middleware {
  let asked = 0
  return {
    name: 'rejecting',
    beforeFinalAnswer: () => (asked++ === 0 ? { accept: false, feedback: 'Once more.' } : { accept: true }),
  }
}

/** Passes each model event on this many milliseconds late. */
export function dawdling(ms: number): Middleware {
  return {
    name: 'dawdling',
    async *wrapModel(request, next) {
      const flow = next(request)
      try {
        for (;;) {
          const step = await flow.next()
          if (step.done) return step.value
          await new Promise((resolve) => setTimeout(resolve, ms))
          yield step.value
        }
      } finally {
        await flow.return(undefined as never)
      }
    },
  }
}
