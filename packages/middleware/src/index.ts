export { DEFAULT_INSTRUCTION, type EarlyStopOptions, earlyStop } from './early-stop.ts'
export type {
  FileBackend,
  FileContent,
  FileKind,
  FileOptions,
  FileStat,
  FolderEntry,
  ListOptions,
  ReadOptions,
  WriteOptions,
} from './file-backend.ts'
export { FileError, type FileErrorCode } from './file-error.ts'
export { pathSegments } from './file-path.ts'
export { type FilesystemOptions, type FileToolName, filesystem } from './filesystem.ts'
export { memoryBackend } from './memory-backend.ts'
export { type OffloadToolResultsOptions, offloadToolResults } from './offload-tool-results.ts'
export { type RetryAttempt, type RetryModelOptions, retryModel } from './retry-model.ts'
