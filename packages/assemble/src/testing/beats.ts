/** Converts a scripted response to a schedule of its pieces. */

import type { FinishReason, Usage } from '@meanwhile/core'
import type { ScriptResponse, ScriptStep } from './script.ts'

/** How fast a model streams, in milliseconds. */
export interface Pace {
  /** The time from the request to the first token. */
  readonly firstToken: number
  /** The time from one token to the next. */
  readonly betweenTokens: number
}

export const AT_ONCE: Pace = { firstToken: 0, betweenTokens: 0 }

export type Beat = {
  /** When it is due, in milliseconds from the request. */
  readonly at: number
} & (
  | { readonly type: 'text' | 'reasoning'; readonly delta: string }
  /** `index` counts the calls of the response from 0. */
  | { readonly type: 'call-start'; readonly index: number; readonly id: string; readonly name: string }
  | { readonly type: 'call-delta'; readonly index: number; readonly delta: string }
  | { readonly type: 'call-end'; readonly index: number }
  | Extract<ScriptStep, { readonly type: 'fail' | 'cut' }>
  | { readonly type: 'end'; readonly finishReason: FinishReason; readonly usage: Usage }
)

/**
 * Returns the schedule of a response. A delta of text or reasoning, the start of a call and a delta of its arguments count as one token
 * each. Everything else is due together with the token before it. The times are absolute: a late piece does not delay the following ones.
 * Calls without an id get `{idPrefix}_1`, `{idPrefix}_2` …
 */
export function beats(response: ScriptResponse, pace: Pace = AT_ONCE, idPrefix: string = 'call'): readonly Beat[] {
  const schedule: Beat[] = []
  let at = 0
  let gap = pace.firstToken
  let calls = 0
  const token = (): number => {
    at += gap
    gap = pace.betweenTokens
    return at
  }
  for (const step of response.steps) {
    switch (step.type) {
      case 'say':
        for (const delta of step.deltas) schedule.push({ type: 'text', delta, at: token() })
        break
      case 'think':
        for (const delta of step.deltas) schedule.push({ type: 'reasoning', delta, at: token() })
        break
      case 'call': {
        const index = calls++
        schedule.push({
          type: 'call-start',
          index,
          id: step.id ?? `${idPrefix}_${calls}`,
          name: step.name,
          at: token(),
        })
        for (const delta of step.deltas) schedule.push({ type: 'call-delta', index, delta, at: token() })
        schedule.push({ type: 'call-end', index, at })
        break
      }
      case 'wait':
        at += step.ms
        break
      case 'fail':
      case 'cut':
        return [...schedule, { ...step, at }]
    }
  }
  return [...schedule, { type: 'end', finishReason: response.finishReason, usage: response.usage, at }]
}
