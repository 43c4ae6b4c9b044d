/** LangChain: each run leaves a listener on the signal of its caller. */

import { getEventListeners } from 'node:events'
import { call, respond, say } from '@meanwhile/assemble/testing'
import type { PeerRun } from '../../peers/driver.ts'
import { langchain } from '../../peers/drivers/langchain.ts'
import { own, played } from '../played.ts'
import type { Row } from '../row.ts'

const RUNS = 20

async function left(run: PeerRun): Promise<string> {
  const { signal } = new AbortController()
  const script = [respond(call('send', { to: 'Bo', text: 'Hi.' })), respond(say('Done.'))]
  for (let n = 0; n < RUNS; n++) await played(run, { wire: 'openai-chat', script, signal })
  return `after ${RUNS} runs the signal has ${getEventListeners(signal, 'abort').length} listeners`
}

export const listeners: Row = {
  title: 'One signal for many runs',
  library: 'LangChain',
  thread: { name: 'langchain-ai/langgraphjs#1014', status: '2025-03, open', isRelated: true },
  note: 'The thread is about one run that adds many listeners to its own signal. The case matters only for a signal that lives long, as that of a server does.',
  test: {
    file: 'packages/core/src/run/shared-signal.test.ts',
    title: 'adds no listener to a signal that others follow',
  },
  trial: {
    folder: 'libraries',
    packages: ['langchain', '@langchain/core', '@langchain/langgraph', '@langchain/openai'],
    right: 'ours',
    theirs: async (load) => await left(await langchain(load)),
    ours: async () => await left(own('external')),
    expected: {
      theirs: 'after 20 runs the signal has 20 listeners',
      ours: 'after 20 runs the signal has 0 listeners',
    },
  },
}
