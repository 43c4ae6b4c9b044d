/** Mastra: a tool whose name has a dot. The model gets a name that providers accept; ours refuses the tool. */

import { call, respond, say } from '@meanwhile/assemble/testing'
import { judged } from '../../other-requests/sent.ts'
import type { PeerRun } from '../../peers/driver.ts'
import { mastra } from '../../peers/drivers/mastra.ts'
import { own, SEND } from '../played.ts'
import type { Row } from '../row.ts'

const input = {
  name: 'a tool whose name has a dot',
  tools: [{ ...SEND, name: 'mail.send' }],
  script: [respond(call('mail_send', { to: 'Bo', text: 'Hi.' })), respond(say('Done.'))],
  result: 'Sent.',
}

async function sent(run: PeerRun): Promise<string> {
  let runs = 0
  const { refusals, error } = await judged(input, 'openai-chat', (url, signal) =>
    run({
      wire: 'openai-chat',
      url,
      prompt: 'Tell Bo.',
      tools: input.tools,
      signal,
      dropIn: (wrapped) => wrapped,
      async work() {
        runs++
        return input.result
      },
    }),
  )
  if (error !== undefined) return `the run failed: ${error}`
  return `the tool ran ${runs === 1 ? 'once' : `${runs} times`}; the requests broke ${refusals.length === 0 ? 'no rule' : refusals.map(({ rule }) => rule).join(', ')}`
}

export const dottedName: Row = {
  title: 'A tool whose name has a dot',
  library: 'Mastra',
  note: 'Providers refuse such a name. Mastra sends another one, ours wants one; [what other libraries send](other-requests.md#rules-that-requests-broke).',
  test: {
    file: 'apps/bench/src/other-requests/own-requests.test.ts',
    title: 'with the inputs that other libraries get, our adapters break no certain rule on',
  },
  trial: {
    folder: 'libraries',
    packages: ['@mastra/core', '@ai-sdk/openai'],
    right: 'theirs',
    theirs: async (load) => await sent(await mastra(load)),
    ours: async () => await sent(own('external')),
    expected: {
      theirs: 'the tool ran once; the requests broke no rule',
      ours: 'the run failed: tools: "mail.send" is not a valid tool name: [A-Za-z0-9_-]{1,64}',
    },
  },
}
