import {
  keepPreviousData,
  MutationCache,
  QueryCache,
  QueryClient,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import type { Operation, OutputOf, RawInputOf } from '../../contract/operation.ts'
import { AppError } from '../../errors.ts'
import { client } from './client.ts'

/** Polling intervals of visible pages, in milliseconds. Unchanged responses are 304. */
export const everyMs = { live: 1_000, status: 2_000, list: 3_000, chart: 10_000 } as const

/** `onSessionOver` is called when the session has ended; the shell then shows the sign-in page. */
export function createQueryClient(onSessionOver: () => void): QueryClient {
  const onError = (error: unknown) => {
    if (error instanceof AppError && error.kind === 'unauthenticated') onSessionOver()
  }
  return new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      queries: {
        // Retry only if the platform is unavailable; other errors would repeat.
        retry: (count, error) => error instanceof AppError && error.kind === 'unavailable' && count < 2,
        retryDelay: 1_000,
        staleTime: 500,
        gcTime: 60_000,
        networkMode: 'always',
      },
      mutations: { networkMode: 'always' },
    },
  })
}

interface ReadOptions {
  everyMs?: number | false
  enabled?: boolean
  /** Shows the data of the previous input until the new data arrives. */
  keep?: boolean
}

/** One read of the contract, repeated every `everyMs`. */
export function useRead<Row extends Operation>(row: Row, input: RawInputOf<Row>, options: ReadOptions = {}) {
  return useQuery<OutputOf<Row>, AppError>({
    queryKey: [row.id, input],
    queryFn: ({ signal }) => client.call(row, input, { signal }),
    refetchInterval: options.everyMs ?? false,
    enabled: options.enabled ?? true,
    ...(options.keep ? { placeholderData: keepPreviousData } : {}),
  })
}

/** Reads before a page does. Never throws; the page repeats failed reads. */
export async function prefetch<Row extends Operation>(
  queries: QueryClient,
  row: Row,
  input: RawInputOf<Row>,
): Promise<OutputOf<Row> | undefined> {
  const queryKey = [row.id, input]
  await queries.prefetchQuery({
    queryKey,
    queryFn: ({ signal }) => client.call(row, input, { signal }),
    retry: false,
  })
  return queries.getQueryData<OutputOf<Row>>(queryKey)
}

/** One write of the contract. Afterwards all reads of the page are repeated. */
export function useWrite<Row extends Operation>(row: Row) {
  const queries = useQueryClient()
  return useMutation<OutputOf<Row>, AppError, RawInputOf<Row>>({
    mutationFn: (input) => client.call(row, input),
    onSettled(_saved, error) {
      // A dialog that closes must not request the preview of the finished change again.
      const read = queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'preview' })
      // A conflict is shown with the stored state, whose revision the next try sends. Otherwise not awaited: the new reads
      // may unmount the component before its callbacks run.
      return error?.kind === 'conflict' ? read : undefined
    },
  })
}
