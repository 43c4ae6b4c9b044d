/** In which order a reader sees the events of a run, and that its spans end. */

import type { AgentEvent, Message } from '../../../src/index.ts'
import { wordOf } from '../model.ts'
import { AT_END, inputOf, letterOf, MAKES } from '../scenario.ts'
import type { World } from '../world.ts'
import type { Promises } from './promise.ts'
import { callsIn, messagesOf } from './results.ts'

/** After each move. */
export const SEEN: Promises = {
  'the reader sees inner calls when it sees their maker': ({ journal: { now, entries, said }, place }) => {
    const isShown = (word: string) =>
      now.events.some(({ path, ...event }) => event.type === 'tool-start' && !path && said.get(event.callId) === word)
    const inner = entries.filter(({ process, run }) => process === place.process && run === 'run')
    return inner.find(({ word }) => {
      const maker = inner.find((one) => MAKES[letterOf(one.word)]?.(inputOf(one.word)) === word)
      if (!maker || !isShown(maker.word)) return false
      return !now.events.some((event) => event.type === 'tool-entered' && event.toolName === letterOf(word))
    })?.word
  },
  'the reader sees at once that a call it has seen has ended': ({ journal: { now, entries }, place, scenario }) => {
    // A call that has waited for its commit when its run paused stays open, whatever it returns.
    if (scenario.wrap || scenario.hookAsks || scenario.hides === 'other') return undefined
    // What ends after a stop may be left to a resume.
    if (place.aborted || place.cancels.length > 0) return undefined
    const ended = entries.filter(({ process, run, came, abortedAmid, word }) => {
      return (
        process === place.process && run === 'run' && came === 'returned' && !abortedAmid && !AT_END[letterOf(word)]
      )
    })
    const types = ['tool-settled', 'tool-end', 'tool-discarded']
    return ended.find(({ word, callId }) => {
      const own = now.events.filter((event) => 'callId' in event && event.callId === callId && !event.path)
      const isIn = own.some(({ type }) => type === 'tool-entered')
      return isIn && !own.some(({ type }) => types.includes(type)) && !isRenamed(now.events, callId) && !isOfMaker(word)
    })?.word
  },
}

/** A later attempt gave the call another id. */
function isRenamed(events: readonly AgentEvent[], id: string): boolean {
  return events.some((event) => event.type === 'tool-committed' && event.startedAs === id)
}

/** It may still have to wait for inner calls. */
const isOfMaker = (word: string) => MAKES[letterOf(word)] !== undefined

/** When a run is over. */
export const EVENTS: Promises = {
  'the events of a run begin with its start and end with its result': ({ journal: { now } }) => {
    const types = now.events.filter(({ path }) => !path).map(({ type }) => type)
    const starts = types.filter((type) => type === 'run-start').length
    if (types.length > 0 && (types[0] !== 'run-start' || starts > 1)) return `${types[0]}, ${starts} starts`
    return now.result && types.indexOf('run-end') !== types.length - 1 ? String(types.at(-1)) : undefined
  },
  'the events of a call come in order: its start, its fate, its end, each once': (world) => {
    const calls = callsSeen(world)
    const wrong = [...calls].find(
      ([id, types]) =>
        !isShared(world, id) && !isInOrder(types, AT_END[letterOf(world.journal.said.get(id) ?? '')] !== undefined),
    )
    return wrong && `${wrong[0]}: ${wrong[1].join(' ')}`
  },
  'the reader sees no event of a call before the call': ({ journal: { shown, said } }) => {
    const known = new Set<string>()
    for (const event of shown.flatMap(({ events }) => events)) {
      if (event.path) continue
      if (event.type === 'tool-input-start') known.add(said.get(event.id) ?? '')
      if (event.type === 'message') for (const call of callsIn(event.message)) known.add(wordOf(call))
      if (event.type === 'tool-start' && event.maker !== undefined) {
        if (!known.has(said.get(event.maker) ?? event.maker)) return `${event.toolName} before its maker`
        known.add(event.callId)
      } else if (
        event.type.startsWith('tool-') &&
        'callId' in event &&
        !known.has(said.get(event.callId) ?? event.callId) &&
        // It is from a checkpoint, which does not tell whether an earlier reader has seen it.
        !(event.type === 'tool-discarded' && event.callId.startsWith('p1') && shown.length > 1)
      )
        return `${event.type} ${event.callId}`
    }
    return undefined
  },
  'each call of a completed run has an end': ({ journal: { shown, now, answered }, left, scenario }) => {
    if (now.result?.status !== 'completed' || scenario.kill || left.resumes < 4 || answered.length > 0) return undefined
    const ended = now.events.flatMap((event) => (event.type === 'tool-end' ? [event.callId] : []))
    return shown.length > 1 ? undefined : now.result.messages.flatMap(callsIn).find(({ id }) => !ended.includes(id))?.id
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
  'the reader sees each execution of a call that counts': ({ journal: { now, entries, shown }, scenario }) => {
    if (now.result?.status !== 'completed' || shown.length > 1 || scenario.hides === 'other') return undefined
    const types = now.events.map(({ type }) => type)
    if (types.includes('tool-discarded') || scenario.steps.some((attempts) => attempts.length > 1)) return undefined
    const seen = now.events.flatMap((event) => (event.type === 'tool-entered' && !event.path ? [event.toolName] : []))
    const executed = entries.filter(({ run }) => run === 'run').map(({ word }) => letterOf(word) as string)
    return executed.find((letter) => count(seen, letter) < count(executed, letter))
  },
  'each span ends once': ({ journal: { now }, scenario }) => {
    if (mayGoOnAfter(scenario)) return undefined
    const wrong = now.spans.find(({ ends }) => ends !== 1)
    return wrong && `${wrong.name}: ${wrong.ends}`
  },
  'each execution has one span': ({ journal: { now, entries }, scenario, place }) => {
    if (mayGoOnAfter(scenario)) return undefined
    const executed = entries
      .filter(({ process, run }) => process === place.process && run === 'run')
      .map(({ word }) => letterOf(word))
    const spans = now.spans.flatMap(({ name }) => (name.startsWith('execute_tool ') ? [name.slice(13)] : []))
    return executed.find((letter) => count(spans, letter) < count(executed, letter))
  },
}

/** Of one call, in one process. The work of a background call goes on after its end, or its end after a resume. */
const IN_ORDER =
  /^(tool-start )?((tool-entered|custom|warning|question) )*(tool-settled )?(tool-committed |tool-discarded )?((tool-entered|custom|warning|question) )*(tool-end )?$/

function isInOrder(types: readonly string[], isWork: boolean): boolean {
  const once = types.filter((type) => /start|end|committed|discarded/.test(type))
  if (new Set(once).size < once.length) return false
  return isWork || IN_ORDER.test(types.map((type) => `${type} `).join(''))
}

/** Whether several calls make an inner call with this id. */
function isShared({ journal: { now } }: World, id: string): boolean {
  return now.events.filter((event) => event.type === 'tool-start' && event.callId === id && event.maker).length > 1
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
function mayGoOnAfter({ steps }: World['scenario']): boolean {
  return steps
    .flat()
    .some(({ calls }) => calls.some((word) => letterOf(word) === 'd' || AT_END[letterOf(word)] === 'detach'))
}

const count = (all: readonly string[], one: string) => all.filter((other) => other === one).length
