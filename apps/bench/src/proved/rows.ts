/** The rows of docs/proved.md, by the names of their scripts. Those where the library is right and ours is not come first. */

import type { Row } from './row.ts'
import { cutOffAnswer } from './rows/cut-off-answer.ts'
import { cutOffCall } from './rows/cut-off-call.ts'
import { cutOffCallOfLangChain } from './rows/cut-off-call-langchain.ts'
import { dottedName } from './rows/dotted-name.ts'
import { executedTwice } from './rows/executed-twice.ts'
import { failedResponse } from './rows/failed-response.ts'
import { failedResponseOfLibreChat } from './rows/failed-response-librechat.ts'
import { halfArguments } from './rows/half-arguments.ts'
import { halfCall } from './rows/half-call.ts'
import { keptResult } from './rows/kept-result.ts'
import { listeners } from './rows/listeners.ts'
import { lostResult } from './rows/lost-result.ts'
import { NOT_RUN } from './rows/not-run.ts'
import { ranAgain } from './rows/ran-again.ts'
import { readForNothing } from './rows/read-for-nothing.ts'
import { repeatedPieces } from './rows/repeated-pieces.ts'
import { wholeCall } from './rows/whole-call.ts'

export const ROWS: Readonly<Record<string, Row>> = {
  'read-for-nothing': readForNothing,
  'executed-twice': executedTwice,
  'kept-result': keptResult,
  'dotted-name': dottedName,
  'half-arguments': halfArguments,
  'failed-response': failedResponse,
  'failed-response-librechat': failedResponseOfLibreChat,
  'cut-off-call': cutOffCall,
  'cut-off-call-langchain': cutOffCallOfLangChain,
  'ran-again': ranAgain,
  'lost-result': lostResult,
  listeners,
  'cut-off-answer': cutOffAnswer,
  'whole-call': wholeCall,
  'repeated-pieces': repeatedPieces,
  'half-call': halfCall,
  ...NOT_RUN,
}
