/** How runs end, and what they leave behind. */

import type { Checkpoint, ToolCall } from '../../../src/index.ts'
import { callsOf } from '../../../src/vocabulary/message.ts'
import { wordOf } from '../model.ts'
import { ofType } from '../place.ts'
import { atEndOf, letterOf, madeBy } from '../scenario.ts'
import type { World } from '../world.ts'
import { differ, type Promises } from './promise.ts'

/** An abort in a moment in which the run has its end. */
const END = /> abort in (invoke_agent span ends|the reader has)/

/** When a run is over. */
export const ENDS: Promises = {
  'an abort ends the run, whatever else has stopped it': ({ place: { amid, result }, path }) =>
    amid.aborted && !path.some((move) => END.test(move)) && result?.status,
  'a run fails only for a reason': ({ journal: { rejected, sent }, place: { error, amid }, scenario }) => {
    if (!error || amid.aborted || amid.failed || scenario.wrap) return false
    const { name, message } = error as Error
    const { maxSteps, steps, saveFails } = scenario
    const isNeeded = steps.length >= maxSteps || rejected.length + sent.length > 0
    const isMeant = (name === 'MaxStepsError' && isNeeded) || (name === 'CheckpointStoreError' && saveFails > 0)
    return !isMeant && `${name}: ${message}`
  },
  'an error that a tool throws to end the run ends it': (world) => {
    const thrown = world.own.find(({ came, abortedAmid }) => came === 'ended its run' && !abortedAmid)
    return thrown && !world.scenario.wrap && timesOf(world, thrown.word).committed > 0
  },
  'a run is interrupted only by a question': ({ place: { result } }) =>
    result?.status === 'interrupted' && result.interrupts.length === 0,
  'a cancelled run shows how it was cancelled': ({ place: { result, amid } }) =>
    result?.status === 'cancelled' && !amid.cancels.includes(result.cancelled.at),
  'a cancelled call asks nothing': ({ journal: { cancelled }, place: { result, process } }) =>
    result?.interrupts?.find(({ address }) =>
      address.some((part) => 'callId' in part && cancelled.get(part.callId) === process),
    ),
  'nothing is running when a run is over': ({ here, place: { result, error }, scenario }) => {
    // A function that ignores its signal is abandoned, and detached work goes on.
    if ((result?.abandoned ?? []).length > 0 || error) return false
    return here.find(({ run, word, came }) => (run === 'run' || !scenario.beside) && !came && !isDetached(word))
  },
  'what is discarded is undone': (world) => {
    const { journal, own, completed, isWhole, place } = world
    const { result, error, events } = place
    const isTold = ofType(events, 'warning').some(({ code }) => code === 'compensation-failed')
    if (isTold || (result && !completed) || (result?.unknown ?? []).length > 0 || (error && !isWhole)) return false
    const discarded = ofType(events, 'tool-discarded').map(({ callId }) => journal.said.get(callId))
    return (completed ? journal.entries : own).find(({ word }) => {
      const { returned, undone, committed } = timesOf(world, word)
      if (letterOf(word) !== 'v' || returned === 0) return false
      return completed ? undone + committed < returned : undone === 0 && discarded.includes(word)
    })
  },
  'what is committed is not undone': (world) =>
    world.journal.undone.find(({ word }) => {
      const { returned, undone, committed } = timesOf(world, word)
      return world.completed && committed + undone > returned
    }),
  'the store has the checkpoint of the result': ({ journal: { stored }, place: { result }, scenario }) => {
    if (!scenario.store || !result || result.checkpointError) return false
    if (!result.checkpoint) return stored?.status !== 'completed'
    return differ(JSON.stringify(stored), JSON.stringify(result.checkpoint))
  },
  'the checkpoint of a cancel now is from before anything was stopped': ({ own, place: { result, amid } }) => {
    if (result?.status !== 'cancelled' || amid.cancels.length !== 1) return false
    const stopped = own.filter(({ abortedAmid, word }) => abortedAmid?.cancels[0] === 'now' && !atEndOf(word))
    return result.checkpoint.calls.find(({ key, message }) => message && stopped.some((one) => one.key === key))
  },
  'a checkpoint of a later step has no call that can no longer change': ({ journal, place: { result, amid } }) => {
    const { stored, undone, storedSave } = journal
    const isUndone = (call: ToolCall) =>
      undone.some(({ word, endedAfter = storedSave }) => word === wordOf(call) && endedAfter < storedSave)
    const pastIn = (one: Checkpoint | undefined) => {
      const step = one?.steps.current?.number ?? one?.steps.begun ?? 0
      return one?.calls.find(({ call, fate, message, isWork, maker, ...saved }) => {
        // A call that was killed after its inner calls had ended may keep them.
        if (maker !== undefined || isWork || madeBy(call.name)) return false
        if (fate === 'discarded') return one === stored && isUndone(call) && !amid.aborted
        return fate === 'committed' && message && saved.step < step
      })
    }
    return pastIn(stored) ?? pastIn(result?.checkpoint)
  },
  'the checkpoint of a stopped run has no discarded call': ({ place: { result } }) =>
    result?.checkpoint?.calls.find(({ fate }) => fate === 'discarded'),
  'a run that only repeats the steps of a wrap makes further steps': ({ journal, completed, isWhole, path }) =>
    completed && isWhole && path.includes('the wrap goes again') && journal.steps.length < 2,
  'detached work goes on when the run has its answer, and the caller has it': ({ here, place, completed }) => {
    const handed = completed?.background?.map(({ name }) => name) ?? []
    return here.find(({ word, came, isAborted }) => {
      const isStopped = isAborted() && place.amid.cancelledCalls.length === 0
      return completed && isDetached(word) && !came && (isStopped || !handed.includes(letterOf(workOf(word))))
    })
  },
}

/** The work of an agent, of which a call is a part. */
const workOf = (word: string) => word.replace('qy', 'y')
const isDetached = (word: string) => atEndOf(workOf(word)) === 'detach'

/** How often a call has returned, was undone, and is in the result of a run that has its answer. */
function timesOf({ journal, completed }: World, word: string) {
  const isSame = (one: { readonly word: string }) => one.word === word
  return {
    returned: journal.entries.filter((one) => isSame(one) && one.came === 'returned').length,
    undone: journal.undone.filter(isSame).length,
    committed: (completed?.messages ?? []).flatMap(callsOf).filter((call) => wordOf(call) === word).length,
  }
}
