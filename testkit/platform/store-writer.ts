import { openSqliteDb } from '../../src/store/sqlite/db.ts'

/** Adds 1 to a number in the store, `times` times, as a process of its own: `<file> <times>`. */
async function countUp(file: string, times: number): Promise<{ failed: string[] }> {
  const db = await openSqliteDb(file)
  const failed: string[] = []
  for (let time = 0; time < times; time += 1) {
    try {
      await db.write(async (tx) => {
        const row = await tx
          .selectFrom('installation')
          .select('value')
          .where('key', '=', 'n')
          .executeTakeFirst()
        // Lets other writers run between the read and the write.
        await new Promise((resolve) => setImmediate(resolve))
        const value = String(Number(row?.value ?? 0) + 1)
        await tx
          .insertInto('installation')
          .values({ key: 'n', value })
          .onConflict((conflict) => conflict.column('key').doUpdateSet({ value }))
          .execute()
      })
    } catch (error) {
      failed.push(String((error as { cause?: unknown }).cause ?? error))
    }
  }
  await db.close()
  return { failed }
}

/** Begins a transaction and leaves it open until it is killed. */
async function hold(file: string): Promise<void> {
  const db = await openSqliteDb(file)
  await db.write(async () => {
    process.send?.('holding')
    // Refers to both, or they would be collected, and the lock with them.
    await new Promise((resolve) => setInterval(() => [db, resolve], 1_000))
  })
}

// Ends with its parent process.
process.once('disconnect', () => process.exit(0))
const [file, times] = process.argv.slice(2)
if (process.send && file && times === 'hold') await hold(file)
else if (process.send && file && times)
  process.send(await countUp(file, Number(times)), () => process.exit(0))
