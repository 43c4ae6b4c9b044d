/** The model of the terminal agent and of the chat: the real one if there is a key, otherwise one that reacts to a few words of the user. */

import { type Message, type Model, type ModelRequest, type ToolMessage, textOf } from '@meanwhile/core'
import { call, respond, type ScriptResponse, say, scriptedModel, think } from '@meanwhile/core/testing'
import { realModel } from './model.ts'

/** The script has a response for each of 10,000 requests: `reply` makes it from the request. */
export const demoModel = (): Model =>
  realModel() ?? scriptedModel(Array(10_000).fill(reply), { pace: { firstToken: 500, betweenTokens: 45 } })

const isOf = (role: Message['role']) => (message: Message) => message.role === role

function reply({ messages }: ModelRequest): ScriptResponse {
  const asked = messages.findLastIndex(isOf('user'))
  const question = messages[asked] ? textOf(messages[asked]) : ''
  const results = messages.slice(asked).flatMap((message) => (message.role === 'tool' ? [resultOf(message)] : []))
  return results.length > 0 ? answer(question, results) : firstStep(question)
}

function resultOf(message: ToolMessage): string {
  if (message.name === 'choose') return `${Object(message.output).chosen} it is.`
  if (!message.isError) return textOf(message)
  return textOf(message).startsWith('Not run') ? 'I have done nothing.' : 'One place does not answer.'
}

function firstStep(question: string): ScriptResponse {
  if (/weather/i.test(question)) {
    const named = question.match(/(?<=\s)[A-Z]\p{L}+/gu) ?? ['Rome']
    return respond(
      think('Each city is a separate call. The calls can start while I am still streaming.'),
      say('Let me look. '),
      ...named.map((city) => call('weather', { city })),
      say(
        'While I wait: a forecast is good for about five days. After that it is hardly better than the average of the season.',
      ),
    )
  }
  if (/mail|write/i.test(question)) {
    const to = /[\w.]+@[\w.]+\w/.exec(question)?.[0] ?? 'ada@example.org'
    return respond(
      say('I have a draft. You decide whether it goes out.'),
      call('send_mail', { to, text: 'Hello! Shall we have lunch on Friday, at noon? The usual place.' }),
    )
  }
  if (/where|choose|dinner|lunch/i.test(question)) {
    const options = ['Trattoria Rosa', 'Noodle House', 'The garden, if it stays dry']
    return respond(say('That is for you to choose.'), call('choose', { question: 'Where shall we eat?', options }))
  }
  if (/story/i.test(question)) return respond(say(STORY))
  return respond(
    say(
      'I am a scripted model: ask me for the weather in Rome and Oslo, a mail to Ada, where to have dinner, or a story.',
    ),
  )
}

function answer(question: string, results: readonly string[]): ScriptResponse {
  if (/weather/i.test(question)) return respond(say(`Here it is. ${results.join(' ')} I would take a hat.`))
  return respond(say(`All right. ${results.join(' ')}`))
}

const STORY =
  `A lighthouse keeper had a clock that was never right. In summer it was slow, because it liked the long evenings, and in winter it
was fast, because it was cold. Ships did not mind: they came by the light. One night the light went out. The keeper climbed the stairs with a candle, and on every
step he counted aloud, and the clock, which had never been asked for anything, counted with him. At the top they agreed to the second. He
lit the lamp, and a ship that had almost given up turned towards the harbour. Since then the clock has been right at night. In the daytime it still does as it
likes.`.replaceAll('\n', ' ')
