/** In which order a reader sees the events of a run, and that its spans end. */

import type { AgentEvent, Message } from '../../../src/index.ts'
import { wordOf } from '../model.ts'
import { atEndOf, letterOf, madeBy, type Scenario, wordsOf } from '../scenario.ts'
import type { World } from '../world.ts'
import type { Promises } from './promise.ts'
import { callsIn, messagesOf } from './results.ts'

/** After each move. */
export const SEEN: Promises = {
  'the reader sees inner calls when it sees their maker': ({ journal: { now, said }, own }) => {
    const isShown = (word: string) =>
      now.events.some(({ path, ...event }) => event.type === 'tool-start' && !path && said.get(event.callId) === word)
    return own.find(({ word }) => {
      const maker = own.find((one) => madeBy(one.word) === word)
      if (!maker || !isShown(maker.word)) return false
      return !now.events.some((event) => event.type === 'tool-entered' && event.toolName === letterOf(word))
    })?.word
  },
  'the reader sees at once that a call it has seen has ended': ({ journal: { now }, own, place, scenario }) => {
    // A call that has waited for its commit when its run paused stays open, whatever it returns.
    if (scenario.wrap || scenario.hook || scenario.hides === 'other') return undefined
    // What ends after a stop may be left to a resume.
    if (place.aborted || place.cancels.length > 0) return undefined
    const types = ['tool-settled', 'tool-end', 'tool-discarded']
    // One that makes calls may still have to wait for them.
    const ended = own.filter(
      ({ word, came, abortedAmid }) => came === 'returned' && !abortedAmid && !atEndOf(word) && !madeBy(word),
    )
    return ended.find(({ callId }) => {
      const seen = now.events.filter((event) => 'callId' in event && event.callId === callId && !event.path)
      const isIn = seen.some(({ type }) => type === 'tool-entered')
      return isIn && !seen.some(({ type }) => types.includes(type)) && !isRenamed(now.events, callId)
    })?.word
  },
}

/** A later attempt gave the call another id. */
function isRenamed(events: readonly AgentEvent[], id: string): boolean {
  return events.some((event) => event.type === 'tool-committed' && event.startedAs === id)
}

/** When a run is over. */
export const EVENTS: Promises = {
  'the events of a run begin with its start and end with its result': ({ journal: { now } }) => {
    const types = now.events.filter(({ path }) => !path).map(({ type }) => type)
    const starts = types.filter((type) => type === 'run-start').length
    if (types.length > 0 && (types[0] !== 'run-start' || starts > 1)) return `${types[0]}, ${starts} starts`
    return now.result && types.indexOf('run-end') !== types.length - 1 ? String(types.at(-1)) : undefined
  },
  'the events of a call come in order: its start, its fate, its end, each once': (world) => {
    const { now, said } = world.journal
    // Several calls may make inner calls with one id, and a call that a hook has changed takes the id of its early start.
    const isOne = (id: string) =>
      now.events.filter((event) => event.type === 'tool-start' && event.callId === id).length < 2 ||
      !(
        world.scenario.hook === 'edits' ||
        now.events.some((event) => event.type === 'tool-start' && event.callId === id && event.maker)
      )
    const isWork = (id: string) => atEndOf(said.get(id) ?? '') !== undefined
    const wrong = [...callsSeen(world)].find(([id, types]) => isOne(id) && !isInOrder(types, isWork(id)))
    return wrong && `${wrong[0]}: ${wrong[1].join(' ')}`
  },
  'the reader sees no event of a call before the call': ({ journal: { shown, said }, isWhole }) => {
    const known = new Set<string>()
    for (const event of shown.flatMap(({ events }) => events)) {
      if (event.path) continue
      if (event.type === 'tool-input-start') known.add(said.get(event.id) ?? '')
      if (event.type === 'message') for (const call of callsIn(event.message)) known.add(wordOf(call))
      const isKnown = (id: string) => known.has(said.get(id) ?? id)
      // A call from a checkpoint, which does not tell whether an earlier reader has seen it.
      const isLoaded = event.type === 'tool-discarded' && event.callId.startsWith('p1') && !isWhole
      if (event.type === 'tool-start' && event.maker !== undefined) {
        if (!isKnown(event.maker)) return `${event.toolName} before its maker`
        known.add(event.callId)
      } else if (event.type.startsWith('tool-') && 'callId' in event && !isKnown(event.callId) && !isLoaded)
        return `${event.type} ${event.callId}`
    }
    return undefined
  },
  'each call of a completed run has an end': ({ journal: { now }, completed, isWhole }) => {
    const ended = now.events.flatMap((event) => (event.type === 'tool-end' ? [event.callId] : []))
    return isWhole ? completed?.messages.flatMap(callsIn).find(({ id }) => !ended.includes(id))?.id : undefined
  },
  'an end that was shown before a question is not shown again': ({ journal: { shown } }) => {
    const ends = (events: readonly AgentEvent[]) =>
      events.flatMap((event) => (event.type === 'tool-end' && !event.path ? [event.callId] : []))
    return shown.flatMap(({ events }, index) => {
      const before = shown.slice(0, index).filter(({ result }) => result?.status === 'interrupted')
      return ends(events).filter((id) => before.some((one) => ends(one.events).includes(id)))
    })[0]
  },
  'the messages of the result follow from the events': ({ journal: { now } }) => {
    const messages = now.result?.messages ?? messagesOf(now.error)
    if (!messages || now.events.length === 0) return undefined
    let told: readonly Message[] = now.from
    for (const event of now.events) {
      if (event.path) continue
      if (event.type === 'message') told = [...told, event.message]
      if (event.type === 'history-replaced') told = event.messages
    }
    const [seen, has] = [JSON.stringify(told), JSON.stringify(messages)]
    return seen === has ? undefined : `${seen} and ${has}`
  },
  'the reader sees each execution of a call that counts': ({ journal: { now }, own, completed, isWhole, scenario }) => {
    if (!completed || !isWhole || scenario.hides === 'other') return undefined
    const types = now.events.map(({ type }) => type)
    if (types.includes('tool-discarded') || scenario.steps.some((attempts) => attempts.length > 1)) return undefined
    return moreOften(
      own.map(({ word }) => letterOf(word)),
      now.events.flatMap((event) => (event.type === 'tool-entered' && !event.path ? [event.toolName] : [])),
    )
  },
  'each span ends once': ({ journal: { now }, scenario }) => {
    const wrong = mayGoOnAfter(scenario) ? undefined : now.spans.find(({ ends }) => ends !== 1)
    return wrong && `${wrong.name}: ${wrong.ends}`
  },
  'each execution has one span': ({ journal: { now }, own, scenario }) =>
    mayGoOnAfter(scenario)
      ? undefined
      : moreOften(
          own.map(({ word }) => letterOf(word)),
          now.spans.flatMap(({ name }) => (name.startsWith('execute_tool ') ? [name.slice(13)] : [])),
        ),
}

/** Of one call, in one process. The work of a background call goes on after its end, or its end after a resume. */
const IN_ORDER =
  /^(tool-start )?((tool-entered|custom|warning|question) )*(tool-settled )?(tool-committed |tool-discarded )?((tool-entered|custom|warning|question) )*(tool-end )?$/

function isInOrder(types: readonly string[], isWork: boolean): boolean {
  const once = types.filter((type) => /start|end|committed|discarded/.test(type))
  if (new Set(once).size < once.length) return false
  return isWork || IN_ORDER.test(types.map((type) => `${type} `).join(''))
}

/** The types of the events of each call. A call that was joined has another id since. */
function callsSeen({ journal: { now } }: World): Map<string, string[]> {
  const calls = new Map<string, string[]>()
  for (const event of now.events) {
    if (event.path || !('callId' in event) || event.callId === undefined) continue
    if (event.type === 'tool-committed' && event.startedAs !== undefined && event.startedAs !== event.callId) {
      calls.set(event.callId, calls.get(event.startedAs) ?? [])
      calls.delete(event.startedAs)
    }
    calls.set(event.callId, [...(calls.get(event.callId) ?? []), event.type])
  }
  return calls
}

/** Whether work may go on when the run is over: a function that ignores its signal, and detached work. */
const mayGoOnAfter = ({ steps }: Scenario) =>
  wordsOf(steps).some((word) => letterOf(word) === 'd' || atEndOf(word) === 'detach')

/** What is more often in the first list than in the second one. */
function moreOften(all: readonly string[], than: readonly string[]): string | undefined {
  const times = (list: readonly string[], one: string) => list.filter((other) => other === one).length
  return all.find((one) => times(than, one) < times(all, one))
}
