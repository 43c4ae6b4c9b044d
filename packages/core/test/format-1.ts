/** Writes a checkpoint in format 1, as older versions did: to compare cores, and to check that nothing is lost on the way back. */

import { checksumOf } from '../src/checkpoint/checksum.ts'
import type { Call1, Format1 } from '../src/checkpoint/format-1.ts'
import type { Checkpoint } from '../src/index.ts'

type SavedCall = Checkpoint['calls'][number]

export function toFormat1({ steps, calls, undos, checksum: _, ...rest }: Checkpoint): Format1 {
  const { begun, current, added, candidate, cutOff, feedback } = steps
  const old = {
    ...rest,
    format: 1 as const,
    steps: begun,
    ...(current && {
      step: {
        ...withoutOffer(current),
        added,
        ...(candidate !== undefined && { candidate }),
        ...(cutOff !== undefined && { cutOff }),
      },
    }),
    ...(feedback !== undefined && { feedback }),
    calls: calls.filter(({ isWork, fate }) => !isWork && fate !== 'discarded').map(call1),
    background: calls.filter(({ isWork }) => isWork).map(work1),
    ...(undos.length > 0 && { undos }),
  }
  return { ...old, checksum: checksumOf(old) }
}

function withoutOffer({ isOffered: _, ...step }: NonNullable<Checkpoint['steps']['current']>) {
  return step
}

function call1(call: SavedCall): Call1 {
  const { id, isRequested, fate, maker, message, told, done } = call
  return {
    ...executed1(call),
    id,
    asked: isRequested,
    provisional: fate === 'provisional',
    ...(maker !== undefined && { maker }),
    ...(message && { told: told === 'shown' }),
    ...(done && { done }),
  }
}

function work1(call: SavedCall): Call1 {
  return { ...executed1(call), delivered: call.isRead === true }
}

/** The members that both formats have. */
function executed1({ key, call, step, attempts, effect, message, outcomes, runs }: SavedCall): Call1 {
  const nested = runs.map(({ invocation, checkpoint }) => ({ nested: toFormat1(checkpoint), nestedIn: invocation }))
  return {
    key,
    call,
    step,
    attempts,
    ...(effect && { effect }),
    ...(message && { message }),
    ...(outcomes.length > 0 && { outcomes }),
    ...nested[0],
    ...(nested.length > 1 && { alsoNested: nested.slice(1) }),
  }
}
