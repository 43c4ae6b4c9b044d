/** The models of such a run. */

import { call, end, fail, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import type { Message, Model } from '../src/index.ts'
import { ASIDE, type Scenario, type Work } from './reentrant-scenario.ts'

/** The response to each request depends on its history, and on whether the request has failed. */
export function modelOf({ turns, works }: Scenario, asked: (messages: readonly Message[]) => void): Model {
  const failed = new Set<number>()
  const response = (messages: readonly Message[]): ScriptResponse => {
    if (messages.at(-1)?.content === 'Aside') return respond(say('Done'))
    asked(messages)
    const number = messages.filter((message) => message.role === 'assistant' && !message.cutOff).length
    const turn = turns[number]
    if (!turn) return respond(say('Done'))
    const calls = turn.calls.map((place, index) => {
      const { name, ...rest } = works[place % works.length] as Work
      const input = name === 'nested' ? { request: JSON.stringify(rest) } : rest
      return call(name, input, { id: `c${number}_${index}`, deltas: 1 })
    })
    const fails = turn.end === 'fails first' && !failed.has(number)
    failed.add(number)
    return respond(
      say('Well', { deltas: 1 }),
      ...calls,
      ...(turn.wait > 0 ? [wait(turn.wait), say('so', { deltas: 1 })] : []),
      ...(fails ? [fail()] : turn.end === 'cut off' ? [end({ finishReason: 'length' })] : []),
    )
  }
  return speaking(response)
}

/** The model of the nested agent: its request is the input of one call, and it makes another one. No two calls of its runs share an id. */
export function innerModel(): Model {
  let count = 0
  return speaking(([request, ...more]) => {
    if (more.length > 0) return respond(say('Done'))
    count++
    return respond(
      call('send', request?.content as string, { id: `inner ${count}`, deltas: 1 }),
      call('send', ASIDE, { id: `other ${count}` }),
    )
  })
}

function speaking(response: (messages: readonly Message[]) => ScriptResponse): Model {
  return {
    provider: 'p',
    id: 'm',
    stream(request) {
      const pace = { firstToken: 1, betweenTokens: 1 }
      return scriptedModel([response(request.messages)], { pace }).stream(request)
    },
  }
}
