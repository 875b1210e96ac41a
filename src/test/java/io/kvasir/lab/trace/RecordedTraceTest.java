package io.kvasir.lab.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class RecordedTraceTest {
  @TempDir private Path directory;

  @Test
  void read_lmcache_hasSessionsWithTheirGaps() throws IOException {
    RecordedTrace trace = sample("lmcache.jsonl");

    List<TraceLine> lines = trace.lines();
    assertThat(trace.blockSize()).isEqualTo(64);
    assertThat(lines).extracting(line -> line.turn().session()).containsExactly("swe__a__1", "gaia__b__1", "swe__a__1");
    assertThat(lines).extracting(TraceLine::output).containsExactly(52, 9, 90);
    assertThat(lines).extracting(TraceLine::delayMs).containsExactly(-1.0, -1.0, 1250.0);
    assertThat(lines).extracting(TraceLine::arrivalMs).startsWith(0.0, 12_000.0);
    // 120 and 137 letters, two names of 6 and 4, four ends of lines.
    assertThat(lines.getFirst().input()).isEqualTo((120 + 137 + 6 + 4 + 4) / TextBlocks.BYTES_PER_TOKEN);
    assertThat(lines.get(2).input()).isGreaterThan(lines.getFirst().input());
    assertThat(lines.getFirst().ids()).hasSize(1);
    assertThat(lines.get(2).ids()).hasSizeGreaterThan(1).startsWith(lines.getFirst().ids());
    assertThat(lines.get(1).ids()).doesNotContain(lines.getFirst().ids());
  }

  @Test
  void read_lmcacheAsAiperfHasIt_isTheSame() throws IOException {
    String converted =
        text("lmcache.jsonl").replace("\"input\"", "\"messages\"").replace("\"pre_gap\": 1.25", "\"delay\": 1250")
            .replace("\"pre_gap\": 0.0", "\"delay\": 0");

    assertThat(read("a.jsonl", converted)).usingRecursiveComparison().isEqualTo(sample("lmcache.jsonl"));
  }

  @Test
  void read_aiperf_countsAnswersThatItDoesNotHave() throws IOException {
    List<TraceLine> lines = sample("aiperf.jsonl").lines();

    assertThat(lines).extracting(TraceLine::output).containsExactly(120, 200, 30);
    assertThat(lines).extracting(TraceLine::delayMs).containsExactly(-1.0, 1500.0, -1.0);
    assertThat(lines.get(2).arrivalMs()).isEqualTo(4000);
    TraceLine first = lines.getFirst();
    assertThat(lines.get(1).input()).isGreaterThan(first.input() + first.output());
    assertThat(lines.get(1).ids()).startsWith(first.ids());
    assertThat(first.known()).isEqualTo(first.input() + first.output());
    assertThat(first.ids()).hasSizeGreaterThan(first.input() / 16);
  }

  @ParameterizedTest
  @CsvSource({"vllm.json,3,0", "sharegpt.json,3,0"})
  void read_conversations_makeATurnOfEachAnswer(String name, int turns, int delay) throws IOException {
    RecordedTrace trace = sample(name);

    List<TraceLine> lines = trace.lines();
    assertThat(trace.blockSize()).isEqualTo(16);
    assertThat(lines).hasSize(turns);
    assertThat(lines.get(0).turn()).isEqualTo(lines.get(1).turn()).isNotEqualTo(lines.get(2).turn());
    assertThat(lines).extracting(TraceLine::delayMs).containsExactly(-1.0, (double) delay, -1.0);
    assertThat(lines.get(2).arrivalMs()).isEqualTo(1000);
    assertThat(lines.get(1).ids()).startsWith(lines.get(0).ids());
    assertThat(lines.get(1).input()).isGreaterThanOrEqualTo(lines.get(0).input() + lines.get(0).output());
    assertThat(lines.get(0).ids().length * 16).isLessThanOrEqualTo(lines.get(0).known());
  }

  @Test
  void read_shareGptWithRoles_isTheSame() throws IOException {
    String renamed = text("sharegpt.json").replace("\"from\"", "\"role\"").replace("\"value\"", "\"content\"");

    assertThat(read("s.json", renamed)).usingRecursiveComparison().isEqualTo(sample("sharegpt.json"));
  }

  @Test
  void read_azure_hasTimesAndLengths() throws IOException {
    List<TraceLine> lines = sample("azure.csv").lines();

    assertThat(lines).extracting(TraceLine::input).containsExactly(4808, 3180, 110);
    assertThat(lines).extracting(TraceLine::output).containsExactly(10, 8, 1);
    assertThat(lines.get(0).arrivalMs()).isZero();
    assertThat(lines.get(1).arrivalMs()).isBetween(51.9, 52.1);
    assertThat(lines.get(2).arrivalMs()).isBetween(59_020.0, 59_020.1);
    assertThat(lines).allMatch(line -> line.ids().length == 0 && !line.turn().named());
    assertThat(sample("azure-2024.csv").lines().get(1).arrivalMs()).isBetween(7.40, 7.41);
  }

  @Test
  void read_burstGpt_countsFromTheFirst() throws IOException {
    List<TraceLine> lines = sample("burstgpt.csv").lines();
    assertThat(lines).extracting(TraceLine::arrivalMs).containsExactly(0.0, 40_000.0, 113_000.0);
    assertThat(lines).extracting(TraceLine::input).containsExactly(472, 1087, 417);
    assertThat(lines).extracting(TraceLine::output).containsExactly(18, 230, 1);

    List<TraceLine> withSessions = sample("burstgpt-3.csv").lines();
    assertThat(withSessions).extracting(TraceLine::arrivalMs).containsExactly(0.0, 51_500.0);
    assertThat(withSessions).extracting(TraceLine::input).containsExactly(906, 36);
    assertThat(withSessions).allMatch(line -> !line.turn().named());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"lmcache.jsonl", "aiperf.jsonl", "vllm.json", "sharegpt.json", "azure.csv", "burstgpt-3.csv"})
  void read_gzippedUnderAnyName_isTheSame(String name) throws IOException {
    Path file = directory.resolve("downloaded");
    try (OutputStream out = new GZIPOutputStream(Files.newOutputStream(file))) {
      out.write(text(name).getBytes(StandardCharsets.UTF_8));
    }

    assertThat(RecordedTrace.read(file, null)).usingRecursiveComparison().isEqualTo(sample(name));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "lmcache.jsonl | \"output_length\": 9 | \"output_length\": \"9\" |"
            + " line 2: output_length must be a whole number of tokens, is \"9\"",
        "lmcache.jsonl | \"pre_gap\": 1.25 | \"pre_gap\": [] | line 3: pre_gap must be a number, is []",
        "lmcache.jsonl | \"session_id\": \"gaia__b__1\", | '' |"
            + " line 2: session_id must be the session's name, is missing",
        "aiperf.jsonl | \"text\": \"And | \"image\": \"And |"
            + " line 1: turns[1].text must be a text, since prompts of images or sound have no tokens, is missing",
        "aiperf.jsonl | \"delay\": 1500 | \"delay\": \"soon\" | line 1: turns[1].delay must be a number, is \"soon\"",
        "vllm.json | {\"role\": \"user\", \"content\": \"Nothing yet.\"} | 7 |"
            + " line 18: messages must be a list of objects, is [{",
        "sharegpt.json | \"from\": \"human\", \"value\": \"Go on.\" | \"value\": \"Go on.\" |"
            + " line 9: conversations[1].from must be who wrote it, is missing",
        "sharegpt.json | \"conversations\": [] | \"conversation\": [] |"
            + " line 10: conversations must be a list, is missing",
        "azure.csv | 18:17:04.0319600 | 18h | line 3: TIMESTAMP must be a time such as 2023-11-16 18:17:03.98, is",
        "azure.csv | ,110,0 | ,110 | line 4: it must be 3 values with commas between them, is",
        "azure.csv | ContextTokens | Context | line 1: the header must be that of azure with a column ContextTokens",
        "burstgpt.csv | 1087,230 | 1087,many | line 3: Response tokens must be a whole number of tokens, is many",
        "burstgpt.csv | 1087,230 | -5,230 | line 3: Request tokens must be a whole number of tokens, is -5",
        "burstgpt.csv | 118, | noon, | line 4: Timestamp must be seconds, is noon"
      })
  void read_whatDoesNotFit_namesFileLineFieldAndWhatFits(String name, String right, String wrong, String fault)
      throws IOException {
    String text = text(name);
    assertThat(text).contains(right);

    assertThatThrownBy(() -> read("broken-" + name, text.replace(right, wrong)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("broken-" + name + ": ")
        .hasMessageContaining(fault.strip());
  }

  @Test
  void read_mooncakeThatDoesNotFit_namesTheField() {
    String line = "{\"timestamp\": 5, \"input_length\": 9, \"output_length\": 1, \"hash_ids\": [1]}\n";
    assertThatThrownBy(() -> read("m", line + line.replace("[1]", "[\"a\"]")))
        .hasMessageContaining("line 2: hash_ids must be a list of blocks' whole numbers, is [\"a\"]");
    assertThatThrownBy(() -> read("m", line + line.replace("5", "\"5\"")))
        .hasMessageContaining("line 2: timestamp must be a number");
    assertThatThrownBy(() -> read("m", line + line.replace("}", ", \"block_size\": 16}")))
        .hasMessageContaining("line 2: block_size must be 512 as in the lines before, is 16");
    assertThatThrownBy(() -> read("m", line + "[1]")).hasMessageContaining("line 2: must be a JSON object");
  }

  @Test
  void read_ofNoFormat_namesTheFormatsAndTheFields() {
    assertThatThrownBy(() -> read("x.json", "{\"filetype\": \"generate_conversations\", \"seed\": 1}"))
        .hasMessageContaining("x.json: line 1: must have the fields of one of the formats mooncake, bailian")
        .hasMessageContaining("has filetype, seed");
    assertThatThrownBy(() -> read("x.csv", "a,b\n1,2\n")).hasMessageContaining("x.csv: line 1 is no JSON");
    assertThatThrownBy(() -> read("x.parquet", "PAR1\0\0\0\0PAR1"))
        .hasMessageContaining("x.parquet: is Parquet, which is not read; make JSON lines of it");
  }

  @Test
  void read_withAFormat_readsThatOne() throws IOException {
    Path both = Files.writeString(directory.resolve("b"), text("burstgpt.csv"));
    assertThat(RecordedTrace.read(both, TraceFormat.BURSTGPT).lines()).hasSize(3);
    assertThatThrownBy(() -> RecordedTrace.read(both, TraceFormat.AZURE))
        .hasMessageContaining("line 1: the header must be that of azure with a column TIMESTAMP");
    Path chats = Files.writeString(directory.resolve("c"), text("vllm.json"));
    assertThatThrownBy(() -> RecordedTrace.read(chats, TraceFormat.LMCACHE))
        .hasMessageContaining("session_id must be the session's name, is missing");
  }

  private RecordedTrace sample(String name) throws IOException {
    return read(name, text(name));
  }

  private RecordedTrace read(String name, String text) throws IOException {
    return RecordedTrace.read(Files.writeString(directory.resolve(name), text), null);
  }

  private static String text(String name) throws IOException {
    try (InputStream in = Objects.requireNonNull(RecordedTraceTest.class.getResourceAsStream(name), name)) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
