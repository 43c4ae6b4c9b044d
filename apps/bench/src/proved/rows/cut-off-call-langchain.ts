/** LangChain: the same input as for OpenAI Agents. */

import { langchain } from '../../peers/drivers/langchain.ts'
import { own } from '../played.ts'
import type { Row } from '../row.ts'
import { CUT_TEST, EXPECTED, ends } from './cut-off-call.ts'

export const cutOffCallOfLangChain: Row = {
  title: 'The same call and its end',
  library: 'LangChain',
  note: 'With Chat Completions; the other wires were not tried. If the connection is reset, the run fails.',
  test: CUT_TEST,
  trial: {
    folder: 'libraries',
    packages: ['langchain', '@langchain/core', '@langchain/langgraph', '@langchain/openai'],
    right: 'ours',
    theirs: async (load) => await ends(await langchain(load)),
    ours: async () => await ends(own('external')),
    expected: EXPECTED,
  },
}
