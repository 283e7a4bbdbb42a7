package lapwing

import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.TimeUnit
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir

/** Runs each example as a program. */
class KotlinExamplesTest {
    @TempDir lateinit var directory: Path

    private fun start(example: String, vararg arguments: String): Process =
        ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                "--enable-native-access=ALL-UNNAMED",
                "lapwing.examples.${example}Kt",
                *arguments,
            )
            .directory(directory.toFile())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start()

    private fun outputOf(process: Process): String {
        val output = process.inputStream.readAllBytes().decodeToString()
        assertTrue(process.waitFor(60, TimeUnit.SECONDS))
        assertEquals(0, process.exitValue())
        return output
    }

    @Test
    fun `publish publishes`() {
        assertEquals("durable up to 10\n", outputOf(start("Publish", directory.toString())))
        History.open(directory).use { history ->
            val records = history.read(1, Batch(16)) as Records
            assertEquals(10, records.count())
            assertEquals(4500.5, records.row(0).getDouble(Schema.ofBus(directory).field("price")))
        }
    }

    @Test
    fun `top of book prints the best prices`() {
        Feed.closedBookBus(directory)
        assertEquals(
            "1:4242 7 x 99.00 | 5 x 101.00\n",
            outputOf(start("TopOfBook", directory.toString())),
        )
    }

    @Test
    fun `two buses are read in one coroutine`() {
        val first = directory.resolve("first")
        val second = directory.resolve("second")
        Feed.closedBus(first, 10_000)
        Feed.open(second).use { publisher -> // closed later than the first bus
            val reading = start("TwoBuses", first.toString(), second.toString())
            while (publisher.inspect().subscribers() == 0L) Thread.sleep(10)
            Feed.publish(publisher, 1, 7)
            publisher.end(Feed.PATIENCE)
            assertEquals("first 10000\nsecond 7\n", outputOf(reading))
        }
    }

    /** Returns the lines between two given lines, without the indentation of the first one. */
    private fun linesBetween(file: String, before: String, after: String): List<String> {
        val lines = Files.readAllLines(Path.of(System.getProperty("basedir"), file))
        val inside = lines.dropWhile { it != before }.drop(1).takeWhile { it != after }
        val indentation = inside.first().takeWhile { it == ' ' }
        return inside.map { it.removePrefix(indentation) }
    }

    @Test
    fun `the loop of the README is the example that runs`() {
        val loop = linesBetween("README.md", "```kotlin", "```")
        assertTrue(loop.size in 5..15, "${loop.size} lines")
        assertEquals(linesBetween("examples/Loop.kt", "fun main() = runBlocking {", "}"), loop)
        Feed.closedBookBus(directory.resolve("es"))
        val said = outputOf(start("Loop")).lines()
        assertEquals(
            listOf("session 1", "1 98.0", "2 99.0", "3 101.0", "4 102.0", "caught-up 4"),
            said.take(6),
        )
        assertTrue(said[6].startsWith("closed 4: "), said[6])
    }

    @Test
    fun `the client calls the server`() {
        val socket = directory.resolve("s").toString()
        val server = start("SquareServer", socket)
        assertEquals(
            "7 squared is 49\n-12 squared is 144\n",
            outputOf(start("SquareClient", socket, "7", "-12")),
        )
        assertEquals("", outputOf(server))
    }
}
