/** Makes events and one message of the pieces of a model's stream, on any wire. */
export { argumentsText } from './arguments-text.ts'
export { assemble, type Explain, type ReadChunk } from './assemble.ts'
export type { AssembledRequest, Assembler, CallPiece, Label, NestedCall, PartOptions } from './assembler.ts'
export { sealsCalls } from './sealing.ts'
export { type InputValue, ToolInput } from './tool-input.ts'
export type { Wire } from './wire.ts'
