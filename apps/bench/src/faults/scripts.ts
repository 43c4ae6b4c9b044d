/** The faults of calls that look complete: each fault as scripts, one for each point at which it can happen. */

import type { AgentState, AssistantPart, Middleware, ToolCall } from '@meanwhile/core'
import { retryTool } from '@meanwhile/middleware'
import { fail, finish, type Input, type Moment, tell, type Variant } from './response.ts'

export interface Script {
  /** Request by request; then the model answers that it is done. */
  readonly responses: readonly (readonly Moment[])[]
  /** The user aborts the run before this moment of the first response. */
  readonly abortAt?: number
  /** The user cancels the run at once before this moment of the first response, and then resumes it. */
  readonly cancelAt?: number
  /** The reaction to a response that broke off. */
  readonly again?: 'retry' | 'failover'
  /** A wrap around the calls, or a check of the response. */
  readonly guard?: Omit<Middleware, 'name'>
  readonly needsApproval?: boolean
  /**
   * What the tool does: it works; or fails; or throws after its work; or never ends, even when it is aborted; or
   * asks before it works; or calls another tool, with the same effect, to do it.
   */
  readonly tool?: 'works' | 'fails' | 'throws' | 'hangs' | 'asks' | 'passes on'
  /** A `read` tool starts as soon as it has `n`, before the rest of its input has arrived. */
  readonly needs?: boolean
  /** The schema fills in a member. While the model is streaming it has another value than afterwards, as the time has. */
  readonly fillsIn?: boolean
}

export interface Fault {
  readonly title: string
  scripts(variant: Variant): readonly Script[]
}

export const FAULTS: readonly Fault[] = [
  { title: 'no fault', scripts: (variant) => [{ responses: [whole(variant)] }] },
  broken('error, at every delta', (said) => [...said, fail()]),
  broken('cut off, at every delta', (said) => said),
  broken('length, at every delta', (said) => [...said, finish('length')]),
  broken('content filter, at every delta', (said) => [...said, finish('content-filter')]),
  broken('refusal, at every delta', (said) => [
    ...said,
    (to) => to.text(' I cannot do that.'),
    finish('content-filter'),
  ]),
  {
    title: 'arguments changed at the end',
    scripts: (variant) => [{ responses: [[...tell(variant, { changedBy: 10 }), finish('tool-calls')]] }],
  },
  {
    title: 'placeholder, then the arguments',
    scripts: (variant) => [{ responses: [[...tell(variant, { before: '{}' }), finish('tool-calls')]] }],
  },
  {
    title: 'more after the arguments',
    scripts: (variant) => [{ responses: [[...tell(variant, { after: ' and so on' }), finish('tool-calls')]] }],
  },
  {
    title: 'the same call twice',
    scripts: (variant) => [{ responses: [[...tell(variant, { twice: true }), finish('tool-calls')]] }],
  },
  repeated('retry asks the same', 'retry', 0),
  repeated('retry asks something else', 'retry', 10),
  repeated('failover asks the same', 'failover', 0),
  repeated('failover asks something else', 'failover', 10),
  {
    title: 'abort, at every delta',
    scripts: (variant) => points(whole(variant)).map((abortAt) => ({ responses: [whole(variant)], abortAt })),
  },
  {
    title: 'cancel and resume, at every delta',
    scripts: (variant) => points(whole(variant)).map((cancelAt) => ({ responses: [whole(variant)], cancelAt })),
  },
  {
    title: 'the tool hangs, abort at every delta',
    scripts: (variant) =>
      points(whole(variant)).map((abortAt) => ({ responses: [whole(variant)], abortAt, tool: 'hangs' })),
  },
  { title: 'the tool throws', scripts: (variant) => [{ responses: [whole(variant)], tool: 'throws' }] },
  { title: 'the tool asks', scripts: (variant) => [{ responses: [whole(variant)], tool: 'asks' }] },
  {
    title: 'a guard denies the call',
    scripts: (variant) => [{ responses: [whole(variant)], guard: { wrapToolCall: denying(0) } }],
  },
  {
    title: 'a human denies the call',
    scripts: (variant) => [{ responses: [whole(variant)], guard: { wrapToolCall: denying(20) }, needsApproval: true }],
  },
  { title: 'a schema that differs', scripts: (variant) => [{ responses: [whole(variant)], fillsIn: true }] },
  differing(repeated('a schema that differs, retry', 'retry', 0)),
  { title: 'afterModel takes the call out', scripts: edited(() => []) },
  { title: 'afterModel edits the call', scripts: edited(elsewhere) },
  { title: 'afterModel leaves the call twice', scripts: edited((call) => [call, call]) },
  {
    title: 'the tool fails and is repeated',
    scripts: (variant) => [
      {
        responses: [[...tell(variant, { besides: true }), finish('tool-calls')]],
        guard: retryTool({ baseDelay: 0 }),
        tool: 'fails',
        needs: true,
      },
    ],
  },
  {
    title: 'arguments changed, calls another',
    scripts: (variant) => [
      { responses: [[...tell(variant, { changedBy: 10 }), finish('tool-calls')]], tool: 'passes on' },
    ],
  },
  {
    title: 'afterModel edits, calls another',
    scripts: (variant) => edited(elsewhere)(variant).map((script) => ({ ...script, tool: 'passes on' })),
  },
]

function elsewhere(call: ToolCall): readonly ToolCall[] {
  return [{ ...call, input: { n: nOf(call) + 10 } satisfies Input }]
}

function whole(variant: Variant): readonly Moment[] {
  return [...tell(variant), finish('tool-calls')]
}

function points(moments: readonly Moment[]): readonly number[] {
  return [...moments.keys()]
}

/** A response that ends in this way after each of its moments. */
function broken(title: string, ending: (said: readonly Moment[]) => readonly Moment[]): Fault {
  return {
    title,
    scripts: (variant) => {
      const said = tell(variant)
      return points(said).map((at) => ({ responses: [ending(said.slice(0, at + 1))] }))
    },
  }
}

/** A response that breaks off after each of its moments; the next attempt has other ids, and inputs from this number on. */
function repeated(title: string, again: 'retry' | 'failover', from: number): Fault {
  return {
    title,
    scripts: (variant) => {
      const said = tell(variant)
      const next = [...tell(variant, { attempt: 'b', from }), finish('tool-calls')]
      return points(said).map((at) => ({ responses: [[...said.slice(0, at + 1), fail()], next], again }))
    },
  }
}

/** The same fault, with tools whose schema fills in a member. */
function differing({ title, scripts }: Fault): Fault {
  return { title, scripts: (variant) => scripts(variant).map((script) => ({ ...script, fillsIn: true })) }
}

/** Denies the first call after this many turns of the event loop. */
function denying(turns: number): NonNullable<Middleware['wrapToolCall']> {
  return async function* (call, next) {
    for (let left = turns; left > 0; left--) await new Promise((resolve) => setImmediate(resolve))
    if (nOf(call) === 0) throw new Error('denied')
    return yield* next(call)
  }
}

/** The first call of each response becomes this. */
function edited(edit: (call: ToolCall) => readonly ToolCall[]): Fault['scripts'] {
  const editPart = (part: AssistantPart): readonly AssistantPart[] =>
    part.type === 'tool-call' && nOf(part) === 0 ? edit(part) : [part]
  const guard = {
    afterModel({ messages }: AgentState) {
      const last = messages.at(-1)
      if (last?.role !== 'assistant') return
      return { messages: [...messages.slice(0, -1), { ...last, content: last.content.flatMap(editPart) }] }
    },
  }
  return (variant) => [{ responses: [whole(variant)], guard }]
}

function nOf({ input }: ToolCall): number {
  return typeof input === 'object' && input !== null && 'n' in input && typeof input.n === 'number'
    ? input.n
    : Number.NaN
}
