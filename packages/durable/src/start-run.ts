/** Starts a run. Any number of processes may start the same run at once, and a start that has failed may be repeated. */

import { CheckpointConflictError, type RunInput } from '@meanwhile/core'
import { deleteRun, finishDeletion } from './deletion.ts'
import type { StartOptions } from './durable-runs-api.ts'
import { RunIdTakenError } from './errors.ts'
import type { NewRun } from './runs-table.ts'
import { agentOf, type Services } from './services.ts'
import { findCheckpoint } from './stored-checkpoint.ts'

interface StartRunOptions extends Pick<StartOptions, 'priority' | 'delay' | 'isNeeded'> {
  /** Whether the id was made for this run, so that no run has it. */
  readonly isNew: boolean
}

/** Resolves when the run is stored and the engine has been notified. An existing run keeps its input and is only woken. */
export async function startRun(
  services: Services,
  run: NewRun,
  input: RunInput,
  { isNeeded, isNew, ...wake }: StartRunOptions,
): Promise<void> {
  const { store, runs, engine } = services
  const agent = agentOf(services, run)
  const known = isNew && runs.isChecked ? undefined : await runs.known(run.id)
  if (known?.isDeleted) await finishDeletion(services, [run.id])
  if (!known || known.isDeleted) {
    try {
      await agent.begin(input, { id: run.id, checkpoints: store })
      await runs.insert(run)
    } catch (error) {
      if (!(error instanceof CheckpointConflictError)) throw error
      await adopt(services, run)
    }
  } else checkAgent(run, known)
  // The caller may be late: the run may have ended and been deleted, and was made again here. No worker takes it before it is woken.
  if (isNeeded && !(await isNeeded())) await deleteRun(services, run.id, { unlessTaken: true })
  else await engine.wake(run.id, wake)
}

/** @throws {RunIdTakenError} A run of another agent has this id. */
function checkAgent({ id, agent }: NewRun, known: Pick<NewRun, 'agent'>): void {
  if (known.agent !== agent) throw new RunIdTakenError(id, `a run of the agent ${JSON.stringify(known.agent)}`)
}

/** A checkpoint with this id exists: from a concurrent start, or from one that failed half-way. */
async function adopt(services: Services, run: NewRun): Promise<void> {
  const { runs, store } = services
  const checkpoint = await findCheckpoint(store, run.id)
  const known = await runs.known(run.id)
  if (known && !known.isDeleted) {
    checkAgent(run, known)
    return
  }
  if (checkpoint?.revision !== 1 || checkpoint.agent !== run.agent)
    throw new RunIdTakenError(run.id, 'a run that was not started as a durable run')
  await runs.insert(run)
}
