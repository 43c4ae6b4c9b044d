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

test('the status decides which members exist: an answer, questions, where it was cancelled, a checkpoint for a resume', () => {
  expectTypeOf<Of<'completed'>>().toEqualTypeOf<CompletedResult<number>>()
  expectTypeOf<Of<'completed'>['message']>().toEqualTypeOf<AssistantMessage | ToolMessage>()
  expectTypeOf<Of<'interrupted'>>().toEqualTypeOf<InterruptedResult>()
  expectTypeOf<Of<'interrupted'>['interrupts']>().toEqualTypeOf<readonly PendingInterrupt[]>()
  expectTypeOf<Of<'cancelled'>>().toEqualTypeOf<CancelledResult>()
  expectTypeOf<Of<'interrupted' | 'cancelled'>['checkpoint']>().toEqualTypeOf<Checkpoint>()
})

test('code that does not check the status may read each member', () => {
  expectTypeOf<AgentResult<number>['output']>().toEqualTypeOf<number | undefined>()
  expectTypeOf<AgentResult['interrupts']>().toEqualTypeOf<readonly PendingInterrupt[] | undefined>()
  expectTypeOf<AgentResult['checkpoint']>().toEqualTypeOf<Checkpoint | undefined>()
})
