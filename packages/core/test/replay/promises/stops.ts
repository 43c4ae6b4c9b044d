/** What a cancel, an abort, a question or a failure stops. */

import { AT_END, EFFECTS, inputOf, isInner, letterOf, MAKES } from '../scenario.ts'
import type { World } from '../world.ts'
import type { Promises } from './promise.ts'

/** After each move. */
export const STOPS: Promises = {
  'nothing starts once the run is aborted, has failed or is cancelled now': ({ journal }) =>
    journal.entries.find(({ run, amid }) => run === 'run' && (amid.aborted || amid.cancels.includes('now')))?.word,
  'once a hook asks, or the run is cancelled after-model, only inner calls of running calls start': ({
    journal,
    scenario,
  }) =>
    journal.entries.find(
      ({ run, word, amid }) =>
        run === 'run' &&
        !isInner(scenario, word) &&
        !AT_END[letterOf(word)] &&
        (amid.hookAsked || amid.cancels.includes('after-model')),
    )?.word,
  'a cancelled run begins no further step': ({ journal }) => {
    const one = journal.modelCalls.find(({ isCancelled }) => isCancelled)
    return one && `step ${one.step}`
  },
  'a call of a failed attempt starts only if another attempt requests it': ({ journal, scenario }) =>
    scenario.store || scenario.slowCheck
      ? undefined
      : journal.entries.find(
          ({ run, word, before }) =>
            run === 'run' && !before && !scenario.wrap && !isInner(scenario, word) && !AT_END[letterOf(word)],
        )?.word,
  'what acts on the world does not start before its response is accepted': ({ journal, scenario }) => {
    if (scenario.eager === 'bold') return undefined
    for (const event of journal.now.events) {
      const isEarly = event.type === 'tool-entered' && event.provisional && !event.path
      if (isEarly && EFFECTS[letterOf(event.toolName)] === 'external') return `${event.toolName} ${event.callId}`
    }
    return undefined
  },
  'a running call is aborted only for a reason': (world) => {
    const { journal, scenario } = world
    if (scenario.wrap || scenario.saveFails || isDiscarding(world)) return undefined
    const without = journal.entries.find(({ word, abortedAmid: amid }) => {
      const isOwn = isInner(scenario, word) || 'wmnca'.includes(letterOf(word)) || AT_END[letterOf(word)]
      if (!amid || isOwn) return false
      return !amid.aborted && !amid.failed && amid.cancels.length === 0 && amid.cancelledCalls.length === 0
    })
    return without?.word
  },
  'an abort, and a cancel now, reach all running calls at once': ({ journal, place }) => {
    if (!place.aborted && !place.cancels.includes('now')) return undefined
    const own = journal.entries.filter(({ process, run }) => process === place.process && run === 'run')
    return own.find(({ word, came, isAborted }) => !came && !isAborted() && AT_END[letterOf(word)] !== 'detach')?.word
  },
  'an inner call is stopped with the call that makes it': ({ journal, place }) => {
    const own = journal.entries.filter(({ process }) => process === place.process)
    const isStopped = (inner: string) =>
      own.findLast(({ word, run }) => run === 'run' && MAKES[letterOf(word)]?.(inputOf(word)) === inner)?.isAborted()
    return own.find(({ word, came, isAborted }) => !came && !isAborted() && isStopped(word))?.word
  },
  'an aborted run ends when its grace time is over, whatever does not end': ({ place, isQuiet }) =>
    place.aborted && isQuiet && !place.isOver ? place.gates.moves().join() : undefined,
  'a cancelled run does not wait for background work': ({ journal, place, isQuiet }) => {
    const waits = place.gates.moves()
    if (place.cancels.length === 0 || place.isOver || !isQuiet || waits.length === 0) return undefined
    // A run that asks waits for its work.
    if (journal.entries.some(({ process, came }) => process === place.process && came === 'asked')) return undefined
    if (journal.now.events.some(({ type }) => type === 'question')) return undefined
    const isWork = (move: string) => {
      const work = journal.entries.findLast(({ word }) => move.startsWith(`${word} `))
      return work && AT_END[letterOf(work.word)] && !work.isAborted()
    }
    return waits.every(isWork) ? waits.join() : undefined
  },
  'a tool that the request did not offer is not executed': ({ journal }) =>
    journal.entries.find(({ word }) => letterOf(word) === 'o')?.word,
  'no more steps begin than allowed': ({ journal, scenario: { maxSteps = Number.POSITIVE_INFINITY } }) => {
    const steps = new Set(journal.modelCalls.map(({ step }) => step)).size
    return steps > maxSteps ? `${steps}` : undefined
  },
}

/** Whether a call may be discarded while it runs. */
function isDiscarding({ scenario }: World): boolean {
  return scenario.hides !== undefined || scenario.steps.some((attempts) => attempts.length > 1)
}
