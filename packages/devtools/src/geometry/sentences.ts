/** Says about a call why it started when it did. Names of effects and tools are in backticks. */

import type { Call, Dialect, Step } from '../model/run.ts'
import { isEarly, timesOf } from './times.ts'
import { duration } from './words.ts'

export function sentenceOf(call: Call, step: Step, dialect: Dialect, now: number): string {
  const times = timesOf(step, now)
  const effect = call.effect === undefined ? undefined : `\`${call.effect}\``
  if (call.fate === 'discarded') return `discarded: ${reasonOf(call)}${call.undone ? ', and undone' : ''}`
  if (isEarly(call, times, dialect)) {
    if (step.responses.some(({ end }) => end === undefined)) return `started early, ${call.end ? 'done' : 'running'}`
    const evidence = call.evidence === undefined ? undefined : EVIDENCE[call.evidence]
    const why = [effect, evidence].filter((one) => one !== undefined).join(', ')
    const before = `started ${duration(Math.max(0, times.streamEnd - call.start))} before the end of the response`
    return why ? `${before}: ${why}` : before
  }
  if (call.deferral === 'conflict') {
    const who = call.waitedFor === undefined ? 'an earlier call that' : `\`${call.waitedFor}\`, which`
    return `waited behind ${who} is not a \`read\``
  }
  if (call.deferral !== undefined) return `waited for the end of the response: ${deferralOf(call, effect)}`
  if (call.effect === 'external') return 'waited for the end of the response: `external`'
  return `started ${duration(Math.max(0, call.start - times.streamEnd))} after the response`
}

/** The label of the bar of a call; empty if there is nothing to say. */
export function labelOf(call: Call, step: Step, dialect: Dialect, now: number): string {
  const times = timesOf(step, now)
  if (call.fate === 'discarded') return call.undone ? 'discarded, undone' : 'discarded'
  if (isEarly(call, times, dialect)) {
    if (step.responses.some(({ end }) => end === undefined)) return `early, ${call.end ? 'done' : 'running'}`
    return times.streamEnd - call.start > 1 ? `${duration(times.streamEnd - call.start)} early` : ''
  }
  if (call.deferral === undefined) return ''
  if (call.deferral === 'conflict') return 'waited: barrier'
  return `waited: ${call.deferral === 'effect' ? (call.effect ?? 'effect') : call.deferral.replaceAll('_', ' ')}`
}

function deferralOf({ deferral = '' }: Call, effect = 'its effect'): string {
  return deferral === 'effect' ? effect : (DEFERRALS[deferral] ?? deferral.replaceAll('_', ' '))
}

function reasonOf({ reason = '' }: Call): string {
  return REASONS[reason] ?? (reason === '' ? 'the response failed' : reason.replaceAll('_', ' '))
}

const EVIDENCE: Readonly<Record<string, string>> = {
  prefix: 'had the arguments it needs',
  closed: 'arguments complete',
  sealed: 'arguments final',
}

const DEFERRALS: Readonly<Record<string, string>> = {
  approval: 'an approval',
  background: 'it runs in the background',
  breaker: 'its tool failed too often',
  budget: 'too much early work was wasted',
  invalid: 'its arguments were not valid',
  last_step: 'the last step',
  off: 'early starts are off',
  order: 'only one slot',
  policy: 'the policy',
}

const REASONS: Readonly<Record<string, string>> = {
  arguments_changed: 'its arguments changed',
  call_withdrawn: 'the next attempt did not ask for it',
  run_aborted: 'the run was stopped',
  stream_error: 'the response broke off',
  stream_truncated: 'the response broke off',
}
