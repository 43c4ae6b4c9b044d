/** A plan the model keeps: tasks with a status, and which of them waits for which. */

import { checkOptions, type Middleware } from '@meanwhile/core'
import { checkPath } from './check-options.ts'
import { checkBackend, type FileBackend } from './file-backend.ts'
import { fileStore, runStore } from './plan-tasks/task-store.ts'
import { taskTools } from './plan-tasks/task-tools.ts'

export type { Task, TaskStatus } from './plan-tasks/task-list.ts'

export interface PlanTasksOptions {
  /** Keeps the plan in a file that several runs share. Default: each run has a plan of its own, in its checkpoints. */
  readonly backend?: FileBackend
  /** Where in the backend. Default `tasks.json`. */
  readonly file?: string
}

/**
 * Adds `task_create`, `task_get`, `task_update` and `task_list`. Ids are numbers that rise and are never given twice, not to two runs
 * over one backend either. What cannot be (a circle, a task that is not there, beginning one that another blocks) is an error
 * result and changes nothing. The plan stands beside the history: no summary touches it.
 */
export function planTasks(options: PlanTasksOptions = {}): Middleware {
  checkOptions('planTasks', options, { backend: '', file: 'path' })
  const { backend, file = 'tasks.json' } = options
  if (backend) checkBackend(backend)
  const tools = taskTools(backend ? fileStore(backend, checkPath('file', file)) : runStore())
  return {
    name: 'plan-tasks',
    beforeAgent: (setup) => ({ ...setup, tools: [...setup.tools, ...tools] }),
  }
}
