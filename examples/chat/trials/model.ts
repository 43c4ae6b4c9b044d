/** The model of the trials: an endpoint whose response depends on the request. It keeps running when a server is killed. */

import { call, cut, fail, respond, type ScriptResponse, say, think } from '@meanwhile/core/testing'
import type { JournalEntry } from '@meanwhile/harness'
import { type ModelServer, serveModels } from '@meanwhile/harness/server'
import { z } from 'zod'

export const STORY = Array.from({ length: 120 }, (_, n) => `word${n}`).join(' ')
export const SECRET = 'sk-the-providers-own-words'

/** What is read of a request, which is one of OpenAI Responses. */
const bodies = z.object({
  input: z.array(
    z.object({
      role: z.string().optional(),
      type: z.string().optional(),
      content: z.unknown().optional(),
      output: z.unknown().optional(),
    }),
  ),
})
const mail = call('send_mail', {
  to: 'ada@example.org',
  text: 'Hello Ada, this is a text that takes a while to write.',
})

export function serveTrialModel(): Promise<ModelServer> {
  const asked = new Map<string, number>()

  function reply({ body }: JournalEntry): ScriptResponse {
    const { input } = bodies.parse(body)
    const said = input.filter(({ role }) => role === 'user')
    const question = JSON.stringify(said.at(-1)?.content)
    const count = (asked.get(question) ?? 0) + 1
    asked.set(question, count)
    const isFirst = count === 1
    const last = input.at(-1)
    if (last?.type === 'function_call_output')
      return respond(think('I know it now.'), say(`It says: ${JSON.stringify(last.output)}`))
    if (/mail/.test(question))
      return respond(say('I write.'), mail, ...(/both/.test(question) ? [call('weather', { city: 'Oslo' })] : []))
    if (/weather/.test(question))
      return respond(
        think('Let me look.'),
        say('I look. '),
        call('weather', { city: /Atlantis/.test(question) ? 'Atlantis' : 'Rome' }),
        say('It takes a little while, and I go on speaking until then, as there is nothing else to do.'),
      )
    if (/dinner/.test(question))
      return respond(say('You choose.'), call('choose', { question: 'Where?', options: ['Rosa', 'Noodles'] }))
    if (/flaky/.test(question) && isFirst)
      return respond(
        say('This first try is wrong, and will be taken back, all of it'),
        call('weather', { city: 'Pa' }),
        cut(),
      )
    if (/fails/.test(question) && isFirst)
      return respond(say('I begin, and then'), fail({ status: 400, code: 'invalid_request', message: SECRET }))
    if (/story/.test(question)) return respond(say(STORY))
    return respond(say(`Answer ${count} to message ${said.length}.`))
  }

  return serveModels({ script: reply, pace: { firstToken: 40, betweenTokens: 25 } })
}
