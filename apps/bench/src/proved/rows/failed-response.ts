/** Mastra: calls that send something, of a response that then fails. Both are written before it fails, and nothing else is. */

import { call, fail, respond, say } from '@meanwhile/assemble/testing'
import { WIRE_NAMES, type WireName } from '@meanwhile/harness/server'
import type { PeerRun } from '../../peers/driver.ts'
import { mastra } from '../../peers/drivers/mastra.ts'
import { WIRE_TITLES } from '../../report/names.ts'
import { own, played } from '../played.ts'
import type { Row } from '../row.ts'

const script = [
  respond(
    call('send', { to: 'Bo', text: 'Hi.' }),
    call('send', { to: 'Al', text: 'Hi.' }),
    say('I have sent two messages.'),
    fail({ code: 'overloaded_error', message: 'overloaded' }),
  ),
  respond(say('Done.')),
]

/** `OpenAI Chat: no tool ran`, for each wire. */
export async function calls(run: PeerRun): Promise<string> {
  const all: string[] = []
  for (const wire of WIRE_NAMES) all.push(`${WIRE_TITLES[wire]}: ${await callsOn(run, wire)}`)
  return all.join('; ')
}

export async function callsOn(run: PeerRun, wire: WireName): Promise<string> {
  const said = await played(run, { wire, script })
  const end = said.includes('the run failed') ? '' : ', and the run went on'
  if (!said.includes('"Bo"')) return `no call ran${end}`
  return `${said.includes('"Al"') ? 'both calls ran' : 'the first call ran'}${end}`
}

export const NONE_RAN = 'OpenAI Chat: no call ran; OpenAI Responses: no call ran; Anthropic Messages: no call ran'

export const TEST = {
  file: 'packages/eager-tools/src/effects.test.ts',
  title: 'an external one when its model call has succeeded',
}

export const failedResponse: Row = {
  title: 'Two calls that send something, of a response that then fails',
  library: 'Mastra',
  thread: { name: 'mastra-ai/mastra#24211' },
  note: 'The thread is the change that brought it. Tools start early by default; `eagerToolExecution: false` turns that off, and tools that need an approval or may suspend, agents, workflows and background tools wait. What has run is not lost: [a fallback gets its result](#a-call-that-has-run-when-another-model-takes-over).',
  test: TEST,
  trial: {
    folder: 'libraries',
    packages: ['@mastra/core', '@ai-sdk/openai', '@ai-sdk/anthropic'],
    right: 'ours',
    theirs: async (load) => await calls(await mastra(load)),
    ours: async () => await calls(own('external')),
    expected: {
      theirs: 'OpenAI Chat: no call ran; OpenAI Responses: both calls ran; Anthropic Messages: both calls ran',
      ours: NONE_RAN,
    },
  },
}
