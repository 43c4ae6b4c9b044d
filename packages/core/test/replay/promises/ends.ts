/** How runs end, and what they leave behind. */

import type { Checkpoint } from '../../../src/index.ts'
import { wordOf } from '../model.ts'
import { AT_END, letterOf, MAKES } from '../scenario.ts'
import type { World } from '../world.ts'
import type { Promises } from './promise.ts'
import { callsIn } from './results.ts'

/** An abort in a moment in which the run has its end. */
const END = /> abort in (invoke_agent span ends|the reader has)/

/** When a run is over. */
export const ENDS: Promises = {
  'an abort ends the run, whatever else has stopped it': ({ journal: { now }, place, path }) =>
    place.aborted && !path.some((move) => END.test(move)) ? now.result?.status : undefined,
  'a run fails only for a reason': ({ journal: { now, rejected, sent }, place, scenario }) => {
    if (!now.error || place.aborted || place.failed) return undefined
    const { name } = now.error as Error
    const { maxSteps = Number.POSITIVE_INFINITY, steps } = scenario
    const isNeeded = steps.length >= maxSteps || rejected.length + sent.length > 0
    const isMeant = (name === 'MaxStepsError' && isNeeded) || (name === 'CheckpointStoreError' && scenario.saveFails)
    return isMeant || scenario.wrap ? undefined : String(now.error)
  },
  'an error that a tool throws to end the run ends it': ({ journal, place, scenario }) => {
    const thrown = journal.entries.find(
      (one) => one.process === place.process && one.came === 'ended its run' && !one.abortedAmid,
    )
    return thrown &&
      !scenario.wrap &&
      journal.now.result?.status === 'completed' &&
      isRequested(journal.now.result.messages, thrown.word)
      ? thrown.word
      : undefined
  },
  'a run is interrupted only by a question': ({ journal: { now } }) =>
    now.result?.status === 'interrupted' && now.result.interrupts.length === 0 ? 'nobody asks' : undefined,
  'a cancelled run shows how it was cancelled': ({ journal: { now }, place }) => {
    if (now.result?.status !== 'cancelled') return undefined
    const { at } = now.result.cancelled
    return place.cancels.includes(at) ? undefined : at
  },
  'a cancelled call asks nothing': ({ journal: { now, cancelled }, place }) =>
    now.result?.interrupts?.find(({ address }) =>
      address.some((part) => 'callId' in part && cancelled.get(part.callId) === place.process),
    )?.id,
  'nothing is running when a run is over': (world) => {
    const { journal, place, scenario } = world
    const own = journal.entries.filter(
      ({ process, run }) => process === place.process && (run === 'run' || !scenario.beside),
    )
    return own.find(({ word, came }) => !came && !mayGoOn(world, word))?.word
  },
  'what is discarded is undone': (world) => {
    const { journal, place } = world
    const { result, error } = journal.now
    if (result && result.status !== 'completed') return undefined
    const messages = result?.messages ?? []
    const isTold = journal.now.events.some((event) => event.type === 'warning' && event.code === 'compensation-failed')
    if (isTold || (result?.unknown ?? []).length > 0 || (error && journal.shown.length > 1)) return undefined
    const done = journal.entries.filter(
      ({ word, came, process }) =>
        letterOf(word) === 'v' && came === 'returned' && (result || process === place.process),
    )
    return done.find(({ word }) => {
      const undone = journal.undone.filter((one) => one.word === word).length
      const returned = done.filter((one) => one.word === word).length
      return result ? undone + times(messages, word) < returned : undone === 0 && isEarly(world, word)
    })?.word
  },
  'what is committed is not undone': ({ journal }) => {
    const { result } = journal.now
    if (result?.status !== 'completed') return undefined
    return journal.undone.find(({ word }) => {
      const returned = journal.entries.filter((one) => one.word === word && one.came === 'returned').length
      return times(result.messages, word) + journal.undone.filter((one) => one.word === word).length > returned
    })?.word
  },
  'the store has the checkpoint of the result': ({ journal: { now, stored }, scenario }) => {
    const { result } = now
    if (!scenario.store || !result || result.checkpointError) return undefined
    if (!result.checkpoint) return stored?.status === 'completed' ? undefined : String(stored?.status)
    const [has, got] = [JSON.stringify(stored), JSON.stringify(result.checkpoint)]
    return has === got ? undefined : `${has} and ${got}`
  },
  'the checkpoint of a cancel now is from before anything was stopped': ({ journal: { now, entries }, place }) => {
    const result = now.result?.status === 'cancelled' && place.cancels.length === 1 ? now.result : undefined
    const stopped = entries.filter((one) => one.process === place.process && one.abortedAmid?.cancels[0] === 'now')
    return result?.checkpoint.calls.find(
      ({ key, message }) => message && stopped.some((one) => one.key === key && !AT_END[letterOf(one.word)]),
    )?.id
  },
  'a checkpoint of a later step has no call that can no longer change': ({
    journal: { stored, now, undone, storedSave },
    place,
  }) => {
    for (const one of [stored, now.result?.checkpoint]) {
      const step = one?.steps.current?.number ?? one?.steps.begun ?? 0
      const isPast = ({ call, fate, message, isWork, maker, ...saved }: Checkpoint['calls'][number]) => {
        // A call that was killed after its inner calls had ended may keep them.
        if (maker !== undefined || isWork || MAKES[letterOf(call.name)]) return false
        const isUndone = undone.some(
          ({ word, endedAfter = storedSave }) => word === wordOf(call) && endedAfter < storedSave,
        )
        return fate === 'discarded'
          ? one === stored && isUndone && !place.aborted
          : fate === 'committed' && message && saved.step < step
      }
      const past = one?.calls.find(isPast)
      if (past) return `${past.id} of step ${past.step}`
    }
    return undefined
  },
  'the checkpoint of a stopped run has no discarded call': ({ journal: { now } }) =>
    now.result?.checkpoint?.calls.find(({ fate }) => fate === 'discarded')?.id,
  'a run that only repeats the steps of a wrap makes further steps': ({ journal, path }) => {
    const at = path.indexOf('the wrap goes again')
    if (at < 0 || journal.now.result?.status !== 'completed' || journal.shown.length > 1) return undefined
    return journal.modelCalls.length < 2 ? `${journal.modelCalls.length} steps` : undefined
  },
  'detached work goes on when the run has its answer, and the caller has it': (world) => {
    const { journal, place } = world
    const { result } = journal.now
    if (result?.status !== 'completed') return undefined
    const work = journal.entries.find(
      ({ word, came, process }) => AT_END[letterOf(word)] === 'detach' && !came && process === place.process,
    )
    if (!work) return undefined
    const isHanded = result.background?.some(({ name }) => name === letterOf(work.word))
    return !isHanded || (work.isAborted() && place.cancelledCalls.length === 0) ? work.word : undefined
  },
}

function isRequested(messages: Parameters<typeof callsIn>[0][], word: string): boolean
function isRequested(messages: readonly Parameters<typeof callsIn>[0][], word: string): boolean
function isRequested(messages: readonly Parameters<typeof callsIn>[0][], word: string): boolean {
  return times(messages, word) > 0
}

function times(messages: readonly Parameters<typeof callsIn>[0][], word: string): number {
  return messages.flatMap(callsIn).filter((call) => wordOf(call) === word).length
}

/** Whether a call was discarded in the run of this process. */
function isEarly({ journal }: World, word: string): boolean {
  return journal.now.events.some((event) => event.type === 'tool-discarded' && journal.said.get(event.callId) === word)
}

/** A function that ignores its signal is abandoned, and detached work goes on. */
function mayGoOn({ journal }: World, word: string): boolean {
  const isAbandoned = (journal.now.result?.abandoned ?? []).length > 0 || journal.now.error !== undefined
  return AT_END[letterOf(word)] === 'detach' || word.startsWith('qy') || isAbandoned
}
