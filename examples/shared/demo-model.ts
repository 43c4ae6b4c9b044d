/** The model of the terminal agent and of the chat: the real one if there is a key, otherwise one that reacts to a few words of the user. */

import { call, respond, type ScriptResponse, say, scriptedModel, think } from '@meanwhile/assemble/testing'
import { type Message, type Model, type ModelRequest, type ToolMessage, textOf } from '@meanwhile/core'
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
        'Good to know: a forecast is good for about five days. After that it is hardly better than the average of the season.',
      ),
    )
  }
  if (isPlan(question)) {
    const city = question.match(/(?<=\s)[A-Z]\p{L}+/u)?.[0] ?? 'Lisbon'
    return respond(
      say('I look at flights first, then at the rest. '),
      call('flights', { from: 'Zurich', to: city }),
      call('weather', { city }),
      call('hotels', { city, nights: 2 }),
      say(
        'Good to know: from the airport the metro takes about 25 minutes, most museums are closed on Mondays, and the hills are steep, so take flat shoes.',
      ),
    )
  }
  if (/\b(mail|write to)\b/i.test(question)) {
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
      'I am a script, not a model, and I know only a few requests: **plan a weekend** in a city, the **weather**, a **mail** to somebody, **dinner**, or a **story**. For anything else, set `OPENAI_API_KEY` or `ANTHROPIC_API_KEY` and start me again.',
    ),
  )
}

const isPlan = (question: string) => /weekend|trip|plan/i.test(question)

function answer(question: string, results: readonly string[]): ScriptResponse {
  if (/weather/i.test(question)) return respond(say(`Here it is. ${results.join(' ')} I would take a hat.`))
  if (isPlan(question)) return respond(say(planOf(results)))
  return respond(say(`All right. ${results.join(' ')}`))
}

const planOf = ([flight, weather, hotel]: readonly string[]) => `Here is a plan:

| What | Which |
|---|---|
| Flight | ${flight} |
| Hotel | ${hotel} |
| Weather | ${weather} |

1. **Friday**: tram 28 up to the castle
2. **Saturday**: the river by bike

\`\`\`sh
# this chat, on your own machine
npm run chat
\`\`\``

const STORY =
  `A lighthouse keeper had a clock that was never right. In summer it was slow, because it liked the long evenings, and in winter it
was fast, because it was cold. Ships did not mind: they came by the light. One night the light went out. The keeper climbed the stairs with a candle, and on every
step he counted aloud, and the clock, which had never been asked for anything, counted with him. At the top they agreed to the second. He
lit the lamp, and a ship that had almost given up turned towards the harbour. Since then the clock has been right at night. In the daytime it still does as it
likes.`.replaceAll('\n', ' ')
