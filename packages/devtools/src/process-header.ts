/** The header by which the processor for development names its process. */
export const PROCESS_HEADER = 'meanwhile-devtools-process'
