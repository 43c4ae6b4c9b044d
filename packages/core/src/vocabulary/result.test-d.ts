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
  expectTypeOf<Of<'completed'>>().toExtend<CompletedResult<number>>()
  expectTypeOf<Of<'completed'>['message']>().toEqualTypeOf<AssistantMessage | ToolMessage>()
  expectTypeOf<Of<'interrupted'>>().toEqualTypeOf<InterruptedResult>()
  expectTypeOf<Of<'interrupted'>['interrupts']>().toEqualTypeOf<readonly PendingInterrupt[]>()
  expectTypeOf<Of<'cancelled'>>().toEqualTypeOf<CancelledResult>()
  expectTypeOf<Of<'interrupted' | 'cancelled'>['checkpoint']>().toEqualTypeOf<Checkpoint>()
})

test('a completed run with an output schema has its output; without one, the output is unknown (M14)', () => {
  expectTypeOf<Of<'completed'>['output']>().toEqualTypeOf<number>()
  expectTypeOf<Extract<AgentResult, { readonly status: 'completed' }>['output']>().toEqualTypeOf<unknown>()
})

test('code that does not check the status may read each member', () => {
  expectTypeOf<AgentResult<number>['output']>().toEqualTypeOf<number | undefined>()
  expectTypeOf<AgentResult['interrupts']>().toEqualTypeOf<readonly PendingInterrupt[] | undefined>()
  expectTypeOf<AgentResult['checkpoint']>().toEqualTypeOf<Checkpoint | undefined>()
})
