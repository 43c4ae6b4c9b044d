/** In which order a reader sees the events of a run, and that its spans end. */

import type { AgentEvent } from '../../../src/index.ts'
import { callsOf } from '../../../src/vocabulary/message.ts'
import { wordOf } from '../model.ts'
import { ofType, type Place } from '../place.ts'
import { atEndOf, letterOf, madeBy, type Scenario, wordsOf } from '../scenario.ts'
import { differ, moreOften, type Promises, twice } from './promise.ts'
import { messagesIn } from './results.ts'

/** After each move. */
export const SEEN: Promises = {
  'the reader sees inner calls when it sees their maker': ({ journal: { said }, place: { events }, own }) => {
    const shown = outer(ofType(events, 'tool-start')).map(({ callId }) => said.get(callId))
    const entered = ofType(events, 'tool-entered').map(({ toolName }) => toolName)
    const isShown = (inner: string) => {
      const maker = own.find(({ word }) => madeBy(word) === inner)
      return maker && shown.includes(maker.word)
    }
    return own.find(({ word }) => isShown(word) && !entered.includes(letterOf(word)))
  },
  'the reader sees at once that a call it has seen has ended': ({ own, place: { amid, events }, scenario }) => {
    // A call that has waited for its commit when its run paused stays open, whatever it returns.
    if (scenario.wrap || scenario.hook || scenario.hides === 'shown otherwise') return false
    // What ends after a stop may be left to a resume.
    if (amid.aborted || amid.cancels.length > 0) return false
    // One that makes calls may still have to wait for them.
    const ended = own.filter(
      ({ word, came, abortedAmid }) => came === 'returned' && !abortedAmid && !atEndOf(word) && !madeBy(word),
    )
    // A later attempt may have given the call another id.
    const renamed = ofType(events, 'tool-committed').map(({ startedAs }) => startedAs)
    return ended.find(({ callId }) => {
      const seen = outer(events).flatMap((event) => ('callId' in event && event.callId === callId ? [event.type] : []))
      const isClosed = seen.some((type) => ['tool-settled', 'tool-end', 'tool-discarded'].includes(type))
      return seen.includes('tool-entered') && !isClosed && !renamed.includes(callId)
    })
  },
}

/** When a run is over. */
export const EVENTS: Promises = {
  'the events of a run begin with its start and end with its result': ({ place: { events, result } }) => {
    const types = outer(events).map(({ type }) => type)
    const isBegun = types.length === 0 || types.lastIndexOf('run-start') === 0
    const isEnded = !result || types.indexOf('run-end') === types.length - 1
    return !(isBegun && isEnded) && types
  },
  'the events of a call come in order: its start, its fate, its end, each once': (world) => {
    const { place, journal, scenario } = world
    const starts = ofType(place.events, 'tool-start')
    // Several calls may make inner calls with one id, and a call that a hook has changed takes the id of its early start.
    const isOne = (id: string) => {
      const same = starts.filter(({ callId }) => callId === id)
      return same.length < 2 || !(scenario.hook === 'hook edits' || same.some(({ makers }) => makers))
    }
    const isWork = (id: string) => atEndOf(journal.said.get(id) ?? '') !== undefined
    return [...callsSeen(outer(place.events))].find(([id, types]) => isOne(id) && !isInOrder(types, isWork(id)))
  },
  'the reader sees no event of a call before the call': ({ journal: { said }, places, isWhole }) => {
    const known = new Set<string>()
    const isKnown = (id: string) => known.has(said.get(id) ?? id)
    for (const event of places.flatMap(({ events }) => outer(events))) {
      if (event.type === 'tool-input-start') known.add(said.get(event.id) ?? '')
      if (event.type === 'message') for (const call of callsOf(event.message)) known.add(wordOf(call))
      // A call from a checkpoint, which does not tell whether an earlier reader has seen it.
      const isLoaded = event.type === 'tool-discarded' && event.callId.startsWith('p1') && !isWhole
      if (event.type === 'tool-start' && event.makers) {
        if (!event.makers.every(isKnown)) return event
        known.add(event.callId)
      } else if (event.type.startsWith('tool-') && 'callId' in event && !isKnown(event.callId) && !isLoaded)
        return event
    }
    return undefined
  },
  'each call of a completed run has an end': ({ place, completed, isWhole }) => {
    const ended = ofType(place.events, 'tool-end').map(({ callId }) => callId)
    return isWhole && completed?.messages.flatMap(callsOf).find(({ id }) => !ended.includes(id))
  },
  'an end that was shown before a question is not shown again': ({ places }) => {
    const ends = ({ events }: Place) => outer(ofType(events, 'tool-end')).map(({ callId }) => callId)
    return places.flatMap((one, index) => {
      const asked = places.slice(0, index).filter(({ result }) => result?.status === 'interrupted')
      const before = asked.flatMap(ends)
      return ends(one).filter((id) => before.includes(id))
    })[0]
  },
  'the messages of the result follow from the events': (world) => {
    const { events, from } = world.place
    const messages = messagesIn(world)
    if (!messages || events.length === 0) return false
    let told = from
    for (const event of outer(events)) {
      if (event.type === 'message') told = [...told, event.message]
      if (event.type === 'history-replaced') told = event.messages
    }
    return differ(JSON.stringify(told), JSON.stringify(messages))
  },
  'the reader sees each execution of a call that counts': ({ place, own, completed, isWhole, scenario }) => {
    if (!completed || !isWhole || scenario.hides === 'shown otherwise') return false
    const mayDiscard = scenario.steps.some((attempts) => attempts.length > 1)
    if (mayDiscard || ofType(place.events, 'tool-discarded').length > 0) return false
    const entered = outer(ofType(place.events, 'tool-entered')).map(({ toolName }) => toolName)
    const executed = own.map(({ word }) => letterOf(word))
    return moreOften(executed, entered)
  },
  'each span ends once': ({ place, scenario }) => !mayGoOnAfter(scenario) && place.spans.find(({ ends }) => ends !== 1),
  'each execution has one span': ({ place, own, scenario }) => {
    const executed = own.map(({ word }) => `execute_tool ${letterOf(word)}`)
    const spans = place.spans.map(({ name }) => name)
    return !mayGoOnAfter(scenario) && moreOften(executed, spans)
  },
}

/** Without the events of agents inside calls. */
const outer = <Event extends AgentEvent>(events: readonly Event[]) => events.filter(({ path }) => !path)

/** Of one call, in one process. The work of a background call goes on after its end, or its end after a resume. */
const IN_ORDER =
  /^(tool-start )?((tool-entered|custom|warning|question) )*(tool-settled )?(tool-committed |tool-discarded )?((tool-entered|custom|warning|question) )*(tool-end )?$/

function isInOrder(types: readonly string[], isWork: boolean): boolean {
  if (twice(types.filter((type) => /start|end|committed|discarded/.test(type)))) return false
  return isWork || IN_ORDER.test(types.map((type) => `${type} `).join(''))
}

/** The types of the events of each call. A call that was joined has another id since. */
function callsSeen(events: readonly AgentEvent[]): Map<string, string[]> {
  const calls = new Map<string, string[]>()
  for (const event of events) {
    if (!('callId' in event) || event.callId === undefined) continue
    const before = (event.type === 'tool-committed' && event.startedAs) || event.callId
    const types = calls.get(before) ?? []
    calls.delete(before)
    calls.set(event.callId, [...types, event.type])
  }
  return calls
}

/** Whether work may go on when the run is over: a function that ignores its signal, and detached work. */
const mayGoOnAfter = ({ steps }: Scenario) =>
  wordsOf(steps).some((word) => letterOf(word) === 'd' || atEndOf(word) === 'detach')
