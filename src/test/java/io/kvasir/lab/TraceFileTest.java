package io.kvasir.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class TraceFileTest {
  @TempDir private Path directory;

  @Test
  void read_mooncake_takesFullBlocksAndKeepsEqualOnesEqual() throws IOException {
    WorkloadTrace trace =
        read(
            """
            {"timestamp": 0, "input_length": 1100, "output_length": 500, "hash_ids": [0, 1, 2]}
            {"timestamp": 27482, "input_length": 1536, "output_length": 0, "hash_ids": [0, 1, 3]}
            """);

    assertThat(trace.blockSize()).isEqualTo(512);
    LabRequest first = trace.requests().get(0);
    LabRequest second = trace.requests().get(1);
    assertThat(hashes(first)).isEqualTo(new long[] {BlockHashes.hashOf(0), BlockHashes.hashOf(1)});
    assertThat(hashes(second)).hasSize(3).startsWith(hashes(first));
    assertThat(second.arrivalMs()).isEqualTo(27482);
    assertThat(second.outputTokens()).isOne();
    assertThat(trace.ceiling()).isEqualTo(1024.0 / 2636);
  }

  @Test
  void at_coarseClock_spreadsRequestsInOrderUpToTheNextTick() throws IOException {
    StringBuilder lines = new StringBuilder();
    for (int i = 0; i < 40; i++) {
      lines.append("{\"timestamp\": %d, \"input_length\": 9, \"output_length\": 1, \"hash_ids\": []}\n"
          .formatted(i / 20 * 3000));
    }
    TraceSource source = source(lines.toString());

    List<LabRequest> requests = source.at(2, 1).requests();

    for (int i = 0; i < 40; i++) {
      double tick = i < 20 ? 0 : 1500;
      assertThat(requests.get(i).arrivalMs()).isBetween(tick, tick + 1500);
      assertThat(i == 0 || requests.get(i).arrivalMs() >= requests.get(i - 1).arrivalMs()).isTrue();
    }
    assertThat(source.at(2, 1).requests()).isEqualTo(requests);
    assertThat(source.at(2, 2).requests()).isNotEqualTo(requests);
  }

  @Test
  void read_bailian_hasSecondsSmallBlocksAndParents() throws IOException {
    String lines =
        """
        {"chat_id": 7, "parent_chat_id": -1, "timestamp":1.5,"input_length": 20,"output_length": 9,"hash_ids": [5, 6]}
        {"chat_id": 9, "parent_chat_id": 7, "timestamp":4.5,"input_length": 48,"output_length": 9,"hash_ids": [5, 8, 9]}
        """;
    WorkloadTrace open = read(lines);
    assertThat(open.blockSize()).isEqualTo(16);
    assertThat(open.requests().get(0).arrivalMs()).isEqualTo(1500);
    assertThat(hashes(open.requests().get(0))).hasSize(1);
    assertThat(open.requests().get(1).parent()).isEqualTo(LabRequest.NO_PARENT);
    assertThat(open.requests()).extracting(LabRequest::session).containsOnly("chat 7");

    LabRequest turn = read(written("b.jsonl", lines), LoopChoice.CLOSED).at(1, 1).requests().get(1);
    assertThat(turn.parent()).isZero();
    assertThat(turn.thinkMs()).isEqualTo(3000);
  }

  @Test
  void read_sessions_waitForTheAnswerBefore() throws IOException {
    WorkloadTrace trace =
        read(
            """
            {"session_id": "a", "timestamp": 10, "input_length": 600, "output_length": 3, "hash_ids": [1, 2]}
            {"session_id": "b", "timestamp": 20, "input_length": 600, "output_length": 3, "hash_ids": [1, 3]}
            {"session_id": "a", "delay": 250, "input_length": 1100, "output_length": 3, "hash_ids": [1, 4, 5]}
            """);

    LabRequest turn = trace.requests().get(2);
    assertThat(turn.parent()).isZero();
    assertThat(turn.thinkMs()).isEqualTo(250);
    assertThat(turn.session()).isEqualTo("a");
  }

  @Test
  void read_sessionsInAnOpenLoop_comeAtTheTimesOfAnIdleEngine() throws IOException {
    String lines =
        """
        {"session_id": "a", "timestamp": 10, "input_length": 600, "output_length": 3, "hash_ids": [1, 2]}
        {"session_id": "a", "delay": 250, "input_length": 1100, "output_length": 3, "hash_ids": [1, 4, 5]}
        """;

    List<LabRequest> requests = read(written("s.jsonl", lines), LoopChoice.OPEN).at(1, 1).requests();

    assertThat(requests).extracting(LabRequest::parent).containsOnly(LabRequest.NO_PARENT);
    assertThat(requests.get(1).arrivalMs()).isEqualTo(260);
  }

  @Test
  void read_weka_followsTheSessionThroughItsAgents() throws IOException {
    String session =
        """
        {"id": "s1", "models": ["m"], "block_size": 64, "hash_id_scope": "local", "tool_tokens": 0, "requests": [
          {"t": 0.0, "type": "s", "model": "m", "in": 200, "out": 10, "hash_ids": [1, 2, 3], "api_time": 2.0},
          {"t": 5.0, "type": "n", "model": "m", "in": 264, "out": 10, "hash_ids": [1, 2, 3, 4], "think_time": 1.5,
           "api_time": 1.0},
          {"t": 7.0, "type": "subagent", "agent_id": "a", "subagent_type": "Explore", "status": "completed",
           "duration_ms": 4000, "models": ["m"], "requests": [
             {"t": 0.5, "type": "n", "model": "m", "in": 130, "out": 5, "hash_ids": [9, 10]}]},
          {"t": 13.0, "type": "n", "model": "m", "in": 330, "out": 10, "hash_ids": [1, 2, 3, 4, 5]}
        ]}
        """;
    WorkloadTrace trace = read(session + session.replace("s1", "s2").replace("\n", ""));

    assertThat(trace.blockSize()).isEqualTo(64);
    List<LabRequest> requests = trace.requests();
    assertThat(requests).extracting(LabRequest::parent).containsExactly(-1, 0, 1, 2, -1, 4, 5, 6);
    assertThat(requests).extracting(LabRequest::thinkMs).startsWith(0.0, 1500.0, 1500.0, 2000.0);
    assertThat(requests.subList(0, 4)).extracting(LabRequest::session).containsOnly("chat s1#0");
    assertThat(hashes(requests.get(1))).startsWith(hashes(requests.get(0)));
    assertThat(hashes(requests.get(4))).as("ids are a session's own").doesNotContain(hashes(requests.get(0)));
    assertThat(requests.get(4).arrivalMs()).isGreaterThan(requests.get(0).arrivalMs());
    assertThat(requests.get(3).promptTokens()).isEqualTo(330);
  }

  @Test
  void read_wekaThatIsWrong_namesTheLine() throws IOException {
    Path nameless = written("n.json", "{\"block_size\": 64,\n\"requests\": []}\n");
    assertThatThrownBy(() -> read(nameless, LoopChoice.TRACE))
        .hasMessageContaining("n.json: line 2: id must be the session's name, is missing");
    Path cut = written("c.jsonl", "{\"timestamp\": 5, \"input_length\": 9\n");
    assertThatThrownBy(() -> read(cut, LoopChoice.TRACE)).hasMessageContaining("is no JSON");
  }

  @Test
  void read_tenants_areThoseOfTheLines() throws IOException {
    WorkloadTrace trace =
        read("{\"timestamp\": 5, \"input_length\": 9, \"output_length\": 1, \"hash_ids\": [], \"tenant\": \"x\"}\n");

    assertThat(trace.requests().getFirst().tenant()).isEqualTo("x");
  }

  @Test
  void read_mooncakeThinking_findsTurnsByTheirPrompts() throws IOException {
    String lines =
        """
        {"timestamp": 0, "input_length": 1100, "output_length": 100, "hash_ids": [0, 1, 2]}
        {"timestamp": 0, "input_length": 1100, "output_length": 100, "hash_ids": [0, 7, 8]}
        {"timestamp": 9000, "input_length": 2100, "output_length": 1, "hash_ids": [0, 1, 3, 4, 5]}
        """;

    List<LabRequest> requests = read(written("m.jsonl", lines), LoopChoice.CLOSED).at(1, 1).requests();

    assertThat(requests).extracting(LabRequest::parent).containsExactly(-1, -1, 0);
  }

  @Test
  void read_gzipped_isTheSame() throws IOException {
    String lines = "{\"timestamp\": 5, \"input_length\": 9, \"output_length\": 1, \"hash_ids\": []}\n";
    Path file = directory.resolve("t.jsonl.gz");
    try (OutputStream out = new GZIPOutputStream(Files.newOutputStream(file))) {
      out.write(lines.getBytes(StandardCharsets.UTF_8));
    }

    assertThat(read(file, LoopChoice.TRACE).at(1, 1)).usingRecursiveComparison().isEqualTo(read(lines));
  }

  @Test
  void read_whatIsNoTrace_namesTheLine() throws IOException {
    Path file = written("x.jsonl", "{\"timestamp\": 5, \"input_length\": 9, \"hash_ids\": []}\n");
    assertThatThrownBy(() -> read(file, LoopChoice.TRACE))
        .hasMessageContaining("x.jsonl")
        .hasMessageContaining("line 1: output_length must be a whole number of tokens, is missing");
    Path empty = written("empty.jsonl", "\n");
    assertThatThrownBy(() -> read(empty, LoopChoice.TRACE)).hasMessageContaining("no requests");
  }

  private WorkloadTrace read(String lines) throws IOException {
    return source(lines).at(1, 1);
  }

  private TraceSource source(String lines) throws IOException {
    return read(written("t.jsonl", lines), LoopChoice.TRACE);
  }

  private static TraceFile read(Path file, LoopChoice loop) throws IOException {
    return TraceFile.read(file, null, loop, null);
  }

  private Path written(String name, String lines) throws IOException {
    return Files.writeString(directory.resolve(name), lines);
  }

  private static long[] hashes(LabRequest request) {
    return request.chain().first(request.chain().length());
  }
}
