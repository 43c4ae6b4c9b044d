import { expectTypeOf, test } from 'vitest'
import type {
  AgentResult,
  AssistantMessage,
  CancelledResult,
  Checkpoint,
  CompletedResult,
  InterruptedResult,
  PendingInterrupt,
  ToolMessage,
} from '../index.ts'

type Of<Status> = Extract<AgentResult<number>, { readonly status: Status }>

test('the status says what else there is: an answer, questions, where it was cancelled, a checkpoint to go on from', () => {
  expectTypeOf<Of<'completed'>>().toEqualTypeOf<CompletedResult<number>>()
  expectTypeOf<Of<'completed'>['message']>().toEqualTypeOf<AssistantMessage | ToolMessage>()
  expectTypeOf<Of<'interrupted'>>().toEqualTypeOf<InterruptedResult>()
  expectTypeOf<Of<'interrupted'>['interrupts']>().toEqualTypeOf<readonly PendingInterrupt[]>()
  expectTypeOf<Of<'cancelled'>>().toEqualTypeOf<CancelledResult>()
  expectTypeOf<Of<'interrupted' | 'cancelled'>['checkpoint']>().toEqualTypeOf<Checkpoint>()
})

test('who does not ask for the status may ask for each member', () => {
  expectTypeOf<AgentResult<number>['output']>().toEqualTypeOf<number | undefined>()
  expectTypeOf<AgentResult['interrupts']>().toEqualTypeOf<readonly PendingInterrupt[] | undefined>()
  expectTypeOf<AgentResult['checkpoint']>().toEqualTypeOf<Checkpoint | undefined>()
})
