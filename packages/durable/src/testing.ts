export { type EngineCase, type EngineUnderTest, engineContract } from './testing/engine-contract.ts'
export { type MemoryEngineOptions, memoryEngine } from './testing/memory-engine.ts'
