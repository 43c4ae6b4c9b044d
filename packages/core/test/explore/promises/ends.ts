/** How runs end, and what they leave behind. */

import type { Checkpoint, Message } from '../../../src/index.ts'
import { wordOf } from '../model.ts'
import { atEndOf, letterOf, madeBy } from '../scenario.ts'
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
    if (!now.error || place.aborted || place.failed || scenario.wrap) return undefined
    const { name, message } = now.error as Error
    const { maxSteps = Number.POSITIVE_INFINITY, steps, saveFails } = scenario
    const isNeeded = steps.length >= maxSteps || rejected.length + sent.length > 0
    const isMeant = (name === 'MaxStepsError' && isNeeded) || (name === 'CheckpointStoreError' && saveFails)
    return isMeant ? undefined : `${name}: ${message}`
  },
  'an error that a tool throws to end the run ends it': ({ own, completed, scenario }) => {
    const thrown = own.find(({ came, abortedAmid }) => came === 'ended its run' && !abortedAmid)
    return thrown && !scenario.wrap && times(completed?.messages, thrown.word) > 0 ? thrown.word : undefined
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
  'nothing is running when a run is over': ({ journal, place, scenario }) => {
    // A function that ignores its signal is abandoned, and detached work goes on.
    if ((journal.now.result?.abandoned ?? []).length > 0 || journal.now.error) return undefined
    return journal.entries.find(
      ({ process, run, word, came }) =>
        process === place.process && (run === 'run' || !scenario.beside) && !came && !isDetached(word),
    )?.word
  },
  'what is discarded is undone': ({ journal, own, completed }) => {
    const { result, error, events } = journal.now
    if (result && !completed) return undefined
    const isTold = events.some((event) => event.type === 'warning' && event.code === 'compensation-failed')
    if (isTold || (result?.unknown ?? []).length > 0 || (error && journal.shown.length > 1)) return undefined
    const isDiscarded = (word: string) =>
      events.some((event) => event.type === 'tool-discarded' && journal.said.get(event.callId) === word)
    const entries = completed ? journal.entries : own
    return entries.find(({ word }) => {
      const { returned, undone } = timesOf(journal, word)
      if (letterOf(word) !== 'v' || returned === 0) return false
      return completed ? undone + times(completed.messages, word) < returned : undone === 0 && isDiscarded(word)
    })?.word
  },
  'what is committed is not undone': ({ journal, completed }) =>
    journal.undone.find(({ word }) => {
      const { returned, undone } = timesOf(journal, word)
      return completed && times(completed.messages, word) + undone > returned
    })?.word,
  'the store has the checkpoint of the result': ({ journal: { now, stored }, scenario }) => {
    const { result } = now
    if (!scenario.store || !result || result.checkpointError) return undefined
    if (!result.checkpoint) return stored?.status === 'completed' ? undefined : String(stored?.status)
    const [has, got] = [JSON.stringify(stored), JSON.stringify(result.checkpoint)]
    return has === got ? undefined : `${has} and ${got}`
  },
  'the checkpoint of a cancel now is from before anything was stopped': ({ journal: { now }, own, place }) => {
    const result = now.result?.status === 'cancelled' && place.cancels.length === 1 ? now.result : undefined
    const stopped = own.filter(({ abortedAmid, word }) => abortedAmid?.cancels[0] === 'now' && !atEndOf(word))
    return result?.checkpoint.calls.find(({ key, message }) => message && stopped.some((one) => one.key === key))?.id
  },
  'a checkpoint of a later step has no call that can no longer change': ({ journal, place }) => {
    const { stored, now, undone, storedSave } = journal
    for (const one of [stored, now.result?.checkpoint]) {
      const step = one?.steps.current?.number ?? one?.steps.begun ?? 0
      const isPast = ({ call, fate, message, isWork, maker, ...saved }: Checkpoint['calls'][number]) => {
        // A call that was killed after its inner calls had ended may keep them.
        if (maker !== undefined || isWork || madeBy(call.name)) return false
        const hasUndone = undone.some(
          ({ word, endedAfter = storedSave }) => word === wordOf(call) && endedAfter < storedSave,
        )
        return fate === 'discarded'
          ? one === stored && hasUndone && !place.aborted
          : fate === 'committed' && message && saved.step < step
      }
      const past = one?.calls.find(isPast)
      if (past) return `${past.id} of step ${past.step}`
    }
    return undefined
  },
  'the checkpoint of a stopped run has no discarded call': ({ journal: { now } }) =>
    now.result?.checkpoint?.calls.find(({ fate }) => fate === 'discarded')?.id,
  'a run that only repeats the steps of a wrap makes further steps': ({ journal, completed, isWhole, path }) => {
    const isMeant = completed && isWhole && path.includes('the wrap goes again')
    return isMeant && journal.steps.length < 2 ? `${journal.steps.length} steps` : undefined
  },
  'detached work goes on when the run has its answer, and the caller has it': ({ journal, place, completed }) => {
    const works = journal.entries.filter(({ word, process }) => process === place.process && isDetached(word))
    return works.find(({ word, came, isAborted }) => {
      const isHanded = completed?.background?.some(({ name }) => name === letterOf(word.replace('qy', 'y')))
      return completed && !came && (!isHanded || (isAborted() && place.cancelledCalls.length === 0))
    })?.word
  },
}

/** Whether an execution is detached work, or a call that an agent makes in it. */
const isDetached = (word: string) => atEndOf(word.replace('qy', 'y')) === 'detach'

/** How often the messages request a call. */
function times(messages: readonly Message[] | undefined, word: string): number {
  return (messages ?? []).flatMap(callsIn).filter((call) => wordOf(call) === word).length
}

/** How often a call has returned, and how often it was undone. */
function timesOf(
  { entries, undone }: World['journal'],
  word: string,
): { readonly returned: number; readonly undone: number } {
  const returned = entries.filter((one) => one.word === word && one.came === 'returned').length
  return { returned, undone: undone.filter((one) => one.word === word).length }
}
