package io.kvasir.execution.stream;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.cell.Outcome;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

final class AnswerTapTest {
  private static final String CHAT = """
      data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m",\
      "choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

      : keep-alive

      data: {"id":"chatcmpl-1",\
      "choices":[{"index":0,"delta":{"content":"a \\"usage\\": {\\"prompt_tokens\\": 7} ☃"}}]}

      data: {"id":"chatcmpl-1","choices":[],"usage":{"prompt_tokens":100,"total_tokens":120,\
      "completion_tokens":20,"prompt_tokens_details":{"cached_tokens":64,"audio_tokens":null}}}

      data: [DONE]

      """;
  private static final String RESPONSES = """
      event: response.created
      data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_9","error":null,"usage":null,\
      "tools":[{"parameters":{"properties":{"usage":{"input_tokens":3}}}}]}}

      event: response.output_text.delta
      data: {"type":"response.output_text.delta","delta":"Hi"}

      event: response.completed
      data: {"type":"response.completed","response":{"id":"resp_9","error":null,"output":[{"id":"msg_1"}],\
      "usage":{"input_tokens":33,"input_tokens_details":{"cached_tokens":16},"output_tokens":5,\
      "output_tokens_details":{"reasoning_tokens":0,"cached_tokens":99},"total_tokens":38}}}

      """;
  private static final String MESSAGES = """
      event: message_start
      data: {"type":"message_start","message":{"id":"msg_7","usage":{"input_tokens":10,\
      "cache_read_input_tokens":48,"cache_creation_input_tokens":2,"output_tokens":0}}}

      event: ping
      data: {"type":"ping"}

      event: content_block_delta
      data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}

      event: message_delta
      data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":12}}

      event: message_stop
      data: {"type":"message_stop"}

      """;
  private static final String FAILING = """
      data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"a"}}]}

      data: {"error":{"message":"CUDA out of memory","type":"InternalServerError","code":500}}

      data: [DONE]

      """;
  private static final String CUT = """
      data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"a"}}]}

      data: {"id":"chatcmpl-1","choi""";

  record Findings(
      boolean firstToken, boolean ended, boolean failed, String id, int prompt, int cached, int output) {
    static Findings of(AnswerTap tap) {
      return new Findings(
          tap.firstToken(),
          tap.ended(),
          tap.failed(),
          tap.id(),
          tap.promptTokens(),
          tap.cachedTokens(),
          tap.outputTokens());
    }
  }

  record Stream(String text, Findings expected) {}

  static List<Stream> streams() {
    return List.of(
        new Stream(CHAT, new Findings(true, true, false, "chatcmpl-1", 100, 64, 20)),
        new Stream(RESPONSES, new Findings(true, true, false, "resp_9", 33, 16, 5)),
        new Stream(MESSAGES, new Findings(true, true, false, "msg_7", 60, 48, 12)),
        new Stream(
            FAILING,
            new Findings(true, true, true, "chatcmpl-1", Outcome.UNKNOWN, Outcome.UNKNOWN, Outcome.UNKNOWN)),
        new Stream(
            CUT,
            new Findings(true, false, false, "chatcmpl-1", Outcome.UNKNOWN, Outcome.UNKNOWN, Outcome.UNKNOWN)),
        new Stream(
            CHAT.replace("\"cached_tokens\":64", "\"cached_tokens\":101"),
            new Findings(true, true, false, "chatcmpl-1", 100, Outcome.UNKNOWN, 20)));
  }

  @ParameterizedTest
  @MethodSource("streams")
  void events_wherever_cut_and_however_lines_end(Stream stream) {
    for (String newline : List.of("\n", "\r\n", "\r")) {
      byte[] bytes = stream.text().replace("\n", newline).getBytes(StandardCharsets.UTF_8);
      for (int cut = 0; cut <= bytes.length; cut++) {
        AnswerTap tap = new AnswerTap(AnswerTap.Form.EVENTS);
        tap.accept(bytes, 0, cut);
        tap.accept(bytes, cut, bytes.length);
        tap.end();
        assertThat(Findings.of(tap)).as("cut at %d, lines end %s", cut, newline).isEqualTo(stream.expected());
      }
      Random random = new Random(7);
      for (int round = 0; round < 200; round++) {
        assertThat(Findings.of(tapped(AnswerTap.Form.EVENTS, bytes, random))).isEqualTo(stream.expected());
      }
    }
  }

  @Test
  void firstToken_lifecycleAndComments_isNotYet() {
    AnswerTap tap = new AnswerTap(AnswerTap.Form.EVENTS);

    accept(tap, ": waiting\n\nevent: response.created\ndata: {\"type\":\"response.created\"}\n\n");
    assertThat(tap.firstToken()).isFalse();

    accept(tap, "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\"}\n\n");
    assertThat(tap.firstToken()).isTrue();
  }

  @Test
  void firstToken_errorEventOnly_isNone() {
    AnswerTap tap = new AnswerTap(AnswerTap.Form.EVENTS);

    accept(tap, "event: error\ndata: {\"detail\":\"overloaded\"}\n\n");

    assertThat(tap.firstToken()).isFalse();
    assertThat(tap.failed()).isTrue();
  }

  /** Events that begin alike are read on from there; each is read as if it were the only one. */
  @Test
  void events_thatBeginAlikeOrNot_areReadAsEachByItself() {
    String[] heads = {
        "{\"id\":\"a\",\"model\":\"m\",\"choices\":[",
        "{\"id\":\"a\",\"model\":\"n\",\"choices\":[",
        "{\"id\":\"a\",\"usage\":{\"completion_tokens\":9},\"choices\":[",
        "{\"id\":\"a\",\"error\":\"no\",\"choices\":[",
        "{\"id\":\"" + "x".repeat(600) + "\",\"choices\":[",
        "{\"id\":\"a\",\"type\":\"t\",\"choices\":[",
        "{\"choices\":["};
    String[] rests = {
        "{\"delta\":{\"content\":\"b\"}}]}", "]}", "],\"usage\":{\"prompt_tokens\":4}}",
        "{\"text\":\"c\"}],\"error\":{}}"};
    Random random = new Random(3);
    for (int round = 0; round < 300; round++) {
      StringBuilder text = new StringBuilder();
      StringBuilder expected = new StringBuilder();
      AnswerTap tap = new AnswerTap(AnswerTap.Form.EVENTS);
      tap.listen(texts(text));
      for (int event = 0; event < 12; event++) {
        String head = heads[random.nextInt(random.nextBoolean() ? 1 : heads.length)];
        byte[] bytes =
            ("data: " + head + rests[random.nextInt(rests.length)] + "\n\n").getBytes(StandardCharsets.UTF_8);
        AnswerTap alone = new AnswerTap(AnswerTap.Form.EVENTS);
        alone.listen(texts(expected));
        alone.accept(bytes, 0, bytes.length);
        boolean failedBefore = tap.failed();
        int cut = random.nextBoolean() ? bytes.length : random.nextInt(bytes.length);
        tap.accept(bytes, 0, cut);
        tap.accept(bytes, cut, bytes.length);

        assertThat(tap.usageOnly()).isEqualTo(alone.usageOnly());
        assertThat(tap.hasUsage()).isEqualTo(alone.hasUsage());
        assertThat(tap.failed()).isEqualTo(failedBefore || alone.failed());
        assertThat(text.toString()).isEqualTo(expected.toString());
        if (alone.promptTokens() != Outcome.UNKNOWN) {
          assertThat(tap.promptTokens()).isEqualTo(alone.promptTokens());
        }
      }
    }
  }

  private static ChoiceListener texts(StringBuilder into) {
    return new ChoiceListener() {
      @Override
      public void finished(byte[] reason, int length) {}

      @Override
      public void text(byte[] bytes, int from, int to) {
        into.append(new String(bytes, from, to - from, StandardCharsets.UTF_8));
      }
    };
  }

  @Test
  void data_overSeveralLines_isOneDocument() {
    AnswerTap tap = new AnswerTap(AnswerTap.Form.EVENTS);

    accept(tap, "data: {\"choices\":[],\ndata:\"usage\":{\"prompt_tokens\":\ndata: 12}}\n\n");

    assertThat(tap.promptTokens()).isEqualTo(12);
    assertThat(tap.usageOnly()).isTrue();
  }

  @Test
  void usageOnly_chunkWithChoices_isNot() {
    AnswerTap tap = new AnswerTap(AnswerTap.Form.EVENTS);

    accept(tap, "data: {\"choices\":[{\"index\":0}],\"usage\":{\"prompt_tokens\":12}}\n\n");

    assertThat(tap.usageOnly()).isFalse();
  }

  @Test
  void end_lastEventWithoutBlankLine_counts() {
    AnswerTap tap = new AnswerTap(AnswerTap.Form.EVENTS);

    accept(tap, "data: {\"choices\":[{}]}\n\ndata: [DONE]\n");
    assertThat(tap.ended()).isFalse();
    tap.end();

    assertThat(tap.ended()).isTrue();
  }

  @Test
  void done_asPartOfMore_isNoEnd() {
    AnswerTap tap = new AnswerTap(AnswerTap.Form.EVENTS);

    accept(tap, "data: [DONE]x\n\ndata: [DONE\n\ndata: [DONE]\ndata: [DONE]\n\n");

    assertThat(tap.ended()).isFalse();
  }

  @Test
  void json_cutShort_hasNotEnded() {
    AnswerTap tap = new AnswerTap(AnswerTap.Form.JSON);

    accept(tap, "{\"usage\":{\"prompt_tokens\":5}");
    tap.end();

    assertThat(tap.ended()).isFalse();
    assertThat(tap.promptTokens()).isEqualTo(5);
  }

  @Test
  void json_countsThatAreNone_areUnknown() {
    for (String count : List.of("null", "-1", "1.5", "1e3", "99999999999", "\"5\"", "true", "{}", "[5]")) {
      AnswerTap tap = new AnswerTap(AnswerTap.Form.JSON);
      accept(tap, "{\"usage\":{\"prompt_tokens\":" + count + ",\"completion_tokens\":3}}");
      tap.end();

      assertThat(tap.promptTokens()).as(count).isEqualTo(Outcome.UNKNOWN);
      assertThat(tap.outputTokens()).as(count).isEqualTo(3);
      assertThat(tap.ended()).as(count).isTrue();
    }
  }

  @Test
  void json_anyDocument_asATreeSaysIt() throws Exception {
    ObjectMapper mapper = new ObjectMapper();
    Random random = new Random(11);
    for (int round = 0; round < 3_000; round++) {
      ObjectNode root = mapper.createObjectNode();
      fill(root, random, 0);
      byte[] bytes = (random.nextBoolean() ? mapper.writer() : mapper.writerWithDefaultPrettyPrinter())
          .writeValueAsBytes(root);

      AnswerTap tap = tapped(AnswerTap.Form.JSON, bytes, random);

      assertThat(Findings.of(tap)).as("%s", root).isEqualTo(oracle(root));
    }
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
      "EVENTS | {'id':'c','choices':[{'index':0,'delta':{'content':'x'},'finish_reason':null,'stop_reason':null}]}"
          + "# {'choices':[{'index':0,'delta':{'content':'a ^'finish_reason^':^'fake^'',"
          + "'tool_calls':[{'function':{'name':'finish_reason','arguments':'{}'}}]},'logprobs':null,"
          + "'finish_reason':'stop','stop_reason':'</s>'}]}# [DONE] | stop",
      "EVENTS | {'choices':[{'index':1,'finish_reason':'length'}]}# {'choices':[{'index':0,'finish_reason':'stop'}]}"
          + "# {'choices':[],'usage':{'prompt_tokens':9}}# [DONE] | length stop",
      "JSON   | {'id':'c','choices':[{'message':{'content':'stop','finish_reason':'inner'},"
          + "'finish_reason':'tool_calls'},{'finish_reason': null,'stop_reason':'x'},{'finish_reason' : 'stop'}],"
          + "'usage':{}} | tool_calls stop",
      "EVENTS | {'type':'message_start','message':{'id':'m','stop_reason':null}}# {'type':'content_block_delta',"
          + "'delta':{'type':'text_delta','text':'stop_reason'}}# {'type':'message_delta','delta':{'stop_reason':"
          + "'end_turn','stop_sequence':null},'usage':{'output_tokens':2}}# {'type':'message_stop'} | end_turn",
      "JSON   | {'id':'m','content':[{'type':'tool_use','input':{'stop_reason':'x'}}],'stop_reason':'tool_use'}"
          + " | tool_use",
      "EVENTS | {'type':'response.created','response':{'status':'in_progress'}}# {'type':'response.output_text.delta',"
          + "'delta':'status'}# {'type':'response.completed','response':{'incomplete_details':null,"
          + "'status':'completed'}} | completed",
      "JSON   | {'id':'r','incomplete_details':{'reason':'max_output_tokens'},'status':'incomplete'}"
          + " | max_output_tokens",
      "JSON   | {'id':'e','object':'list','data':[{'finish_reason':'x'}]} | ` `"})
  void finishReasons_areTheEngines_whereverCut(AnswerTap.Form form, String answer, String reasons) {
    String json = answer.replace('^', '\\').replace('\'', '"');
    String text = form == AnswerTap.Form.JSON ? json : "data: " + json.replace("# ", "\n\ndata: ") + "\n\n";
    List<String> expected = reasons.isBlank() ? List.of() : List.of(reasons.split(" "));
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    for (int cut = 0; cut <= bytes.length; cut++) {
      AnswerTap tap = new AnswerTap(form, true);
      tap.accept(bytes, 0, cut);
      tap.accept(bytes, cut, bytes.length);
      tap.end();
      assertThat(tap.finishReasons()).as("cut at %d", cut).isEqualTo(expected);
      assertThat(tap.failed()).isFalse();
    }
    AnswerTap deaf = new AnswerTap(form);
    deaf.accept(bytes, 0, bytes.length);
    assertThat(deaf.finishReasons()).isEmpty();
  }

  @Test
  void garbage_neverThrows() {
    Random random = new Random(13);
    byte[] alphabet = "{}[]\",:\\ \r\ndataevnt01usage".getBytes(StandardCharsets.US_ASCII);
    for (int round = 0; round < 5_000; round++) {
      byte[] bytes = new byte[random.nextInt(200)];
      for (int i = 0; i < bytes.length; i++) {
        bytes[i] = alphabet[random.nextInt(alphabet.length)];
      }
      for (AnswerTap.Form form : AnswerTap.Form.values()) {
        AnswerTap whole = new AnswerTap(form);
        whole.accept(bytes, 0, bytes.length);
        whole.end();
        assertThat(Findings.of(tapped(form, bytes, random))).isEqualTo(Findings.of(whole));
      }
    }
  }

  private static AnswerTap tapped(AnswerTap.Form form, byte[] bytes, Random random) {
    AnswerTap tap = new AnswerTap(form);
    for (int at = 0; at < bytes.length; ) {
      int to = Math.min(bytes.length, at + 1 + random.nextInt(40));
      tap.accept(bytes, at, to);
      at = to;
    }
    tap.end();
    return tap;
  }

  private static void accept(AnswerTap tap, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    tap.accept(bytes, 0, bytes.length);
  }

  private static final List<String> KEYS = List.of(
      "usage", "response", "message", "error", "id", "type", "choices", "prompt_tokens", "input_tokens",
      "completion_tokens", "output_tokens", "prompt_tokens_details", "input_tokens_details", "cached_tokens",
      "cache_read_input_tokens", "other", "a\"usage", "a key that is longer than any of ours can be");

  private static void fill(ObjectNode object, Random random, int depth) {
    int members = random.nextInt(7);
    for (int i = 0; i < members; i++) {
      String key = KEYS.get(random.nextInt(KEYS.size()));
      switch (random.nextInt(depth > 4 ? 4 : 7)) {
        case 0 -> object.put(key, random.nextInt(1_000));
        case 1 -> object.put(key, List.of("text", "}{", "\"usage\":{", "back\\", "", "resp_1")
            .get(random.nextInt(6)));
        case 2 -> object.putNull(key);
        case 3 -> object.put(key, random.nextBoolean());
        case 4 -> {
          ArrayNode array = object.putArray(key);
          for (int j = random.nextInt(3); j > 0; j--) {
            fill(array.addObject(), random, depth + 1);
          }
        }
        default -> fill(object.putObject(key), random, depth + 1);
      }
    }
  }

  /** What the tap should find, by a tree and in the order of its members. */
  private static Findings oracle(ObjectNode root) {
    Oracle oracle = new Oracle();
    root.properties().forEach(member -> {
      switch (member.getKey()) {
        case "usage" -> oracle.usage(member.getValue());
        case "error" -> oracle.error(member.getValue());
        case "id" -> oracle.id(member.getValue());
        case "response", "message" -> member.getValue().properties().forEach(inner -> {
          switch (inner.getKey()) {
            case "usage" -> oracle.usage(inner.getValue());
            case "error" -> oracle.error(inner.getValue());
            case "id" -> oracle.id(inner.getValue());
            default -> { }
          }
        });
        default -> { }
      }
    });
    return oracle.findings();
  }

  private static final class Oracle {
    private boolean failed;
    private String id = "";
    private boolean idTaken;
    private int prompt = Outcome.UNKNOWN;
    private int output = Outcome.UNKNOWN;
    private int cached = Outcome.UNKNOWN;
    private int cacheRead = Outcome.UNKNOWN;

    void error(JsonNode error) {
      failed |= error.isContainerNode() || error.isTextual();
    }

    void id(JsonNode value) {
      if (!idTaken && value.isTextual()) {
        id = value.textValue().replace("\\", "").isEmpty() ? "" : value.textValue();
        idTaken = true;
      }
    }

    void usage(JsonNode usage) {
      if (!usage.isObject()) {
        return;
      }
      usage.properties().forEach(member -> {
        JsonNode value = member.getValue();
        switch (member.getKey()) {
          case "prompt_tokens", "input_tokens" -> prompt = value.isInt() ? value.intValue() : prompt;
          case "completion_tokens", "output_tokens" -> output = value.isInt() ? value.intValue() : output;
          case "cache_read_input_tokens" -> cacheRead = value.isInt() ? value.intValue() : cacheRead;
          case "prompt_tokens_details", "input_tokens_details" -> {
            JsonNode details = value.path("cached_tokens");
            cached = details.isInt() ? details.intValue() : cached;
          }
          default -> { }
        }
      });
    }

    Findings findings() {
      int total = prompt == Outcome.UNKNOWN ? Outcome.UNKNOWN : prompt + Math.max(cacheRead, 0);
      int found = cached != Outcome.UNKNOWN ? cached : cacheRead;
      return new Findings(true, true, failed, id, total, found, output);
    }
  }
}
