package io.kvasir.execution.stream;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.cell.Outcome;
import io.kvasir.http.ApiPath;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class StitchedStreamTest {
  private static final String ROLE = chunk("one", 7, "\"delta\":{\"role\":\"assistant\",\"content\":\"\"}");
  private static final String HEL = chunk("one", 7, "\"delta\":{\"content\":\"Hel\"}");
  private static final String LO = chunk("one", 7, "\"delta\":{\"content\":\"lo\"}");
  private static final String SECOND =
      chunk("two", 8, "\"delta\":{\"role\":\"assistant\",\"content\":\"\"}")
          + ": still here\n\n"
          + chunk("two", 8, "\"delta\":{\"content\":\"lo\"}")
          + chunk("two", 8, "\"delta\":{},\"finish_reason\":\"stop\"")
          + usage("two", 8, 6, 2, 8, 5)
          + "data: [DONE]\n\n";
  private static final String END =
      chunk("one", 7, "\"delta\":{},\"finish_reason\":\"stop\"");

  /** Of a completion whose client has usage in every event. */
  private static final RestOfStream REST = new RestOfStream(Outcome.UNKNOWN, false, false, true);

  private final ByteArrayOutputStream out = new ByteArrayOutputStream();

  @Test
  void twoStreams_whereverTheirBytesAreCut_areOne() throws IOException {
    Random random = new Random(1);
    for (int round = 0; round < 300; round++) {
      out.reset();
      StitchedStream stream = stream(true, false);
      write(stream, ROLE + HEL + "data: {\"id\":\"one\",\"cho", random);
      stream.truncated();
      stream.resume(REST);
      assertThat(stream.answer().text()).isEqualTo("Hel");
      assertThat(stream.answer().generated()).isEqualTo(1);
      write(stream, SECOND, random);
      stream.complete();

      // The second prompt had one token more, and its cache was another's.
      assertThat(out()).isEqualTo(ROLE + HEL + ": still here\n\n" + LO + END
          + "data: {\"id\":\"one\",\"created\":7,\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":3,"
          + "\"total_tokens\":8}}\n\ndata: [DONE]\n\n");
      assertThat(stream.done()).isTrue();
      assertThat(stream.answer().cachedTokens()).isEqualTo(Outcome.UNKNOWN);
    }
  }

  @Test
  void usageSoFar_isAddedTo() throws IOException {
    StitchedStream stream = stream(false, false);
    String counted = "data: {\"id\":\"one\",\"choices\":[{\"text\":\"a b\"}],\"usage\":{\"prompt_tokens\":5,"
        + "\"completion_tokens\":2,\"total_tokens\":7,\"prompt_tokens_details\":{\"cached_tokens\":4}}}\n\n";
    write(stream, counted);
    stream.truncated();
    stream.resume(REST);
    assertThat(stream.answer().generated()).isEqualTo(2);

    out.reset();
    write(stream, usage("two", 8, 7, 3, 10, 6));

    assertThat(out()).contains("\"prompt_tokens\":5,\"completion_tokens\":5,\"total_tokens\":10")
        .contains("{\"cached_tokens\":4}");
  }

  @Test
  void usageTheClientDidNotAskFor_isKeptFromItAndKnown() throws IOException {
    StitchedStream stream = stream(true, true);
    write(stream, ROLE + HEL + usage("one", 7, 5, 1, 6, 4) + "data: [DONE]\n\n");
    stream.complete();

    assertThat(out()).isEqualTo(ROLE + HEL + "data: [DONE]\n\n");
    assertThat(stream.answer().promptTokens()).isEqualTo(5);
  }

  @Test
  void blanksAtTheEnd_areNotSaidTwice() throws IOException {
    assertThat(continued("Hel \\n", " \\nlo")).isEqualTo("Hel \nlo");
    assertThat(continued("Hel \\n", " ", "\\n", "lo")).isEqualTo("Hel \nlo");
    assertThat(continued("Hel\\n", "\\n\\nlo")).isEqualTo("Hel\n\nlo");
    assertThat(continued(" ", " Hello")).isEqualTo(" Hello");
  }

  private String continued(String first, String... rest) throws IOException {
    out.reset();
    try (StitchedStream stream = stream(true, false)) {
      write(stream, ROLE + chunk("one", 7, "\"delta\":{\"content\":\"" + first + "\"}"));
      stream.truncated();
      stream.resume(REST);
      for (String said : rest) {
        write(stream, chunk("two", 8, "\"delta\":{\"content\":\"" + said + "\"}"));
      }
      stream.truncated();
      stream.resume(REST);
      StringBuilder told = new StringBuilder();
      Matcher content = Pattern.compile("\"content\":(\"[^\"]*\")").matcher(out());
      while (content.find()) {
        told.append(new ObjectMapper().readValue(content.group(1), String.class));
      }
      assertThat(stream.answer().text()).isEqualTo(told.toString());
      return told.toString();
    }
  }

  @Test
  void textsOfAllStreams_takeOnlyTheirBudget() throws IOException {
    TextBudget budget = new TextBudget(3000);
    String said = chunk("one", 7, "\"delta\":{\"content\":\"" + "x".repeat(700) + "\"}");
    StitchedStream first = new StitchedStream(out::write, _ -> true, ApiPath.CHAT, false, budget);
    write(first, said + said);
    StitchedStream second = new StitchedStream(out::write, _ -> true, ApiPath.CHAT, false, budget);
    write(second, said + said);

    assertThat(first.answer().unsupportedReason()).isNull();
    assertThat(second.answer().unsupportedReason()).isEqualTo("memory");
    assertThat(out()).isEqualTo(said.repeat(4));
    first.close();
    second.close();
    second.close();
    assertThat(budget.used()).isZero();
  }

  @Test
  void lastEventWithoutItsBlankLine_isWhole() throws IOException {
    StitchedStream stream = stream(true, false);
    write(stream, ROLE + HEL.stripTrailing());
    stream.truncated();
    stream.resume(REST);

    assertThat(out()).isEqualTo(ROLE + HEL);
    assertThat(stream.answer().text()).isEqualTo("Hel");
  }

  @Test
  void roleThatWasNotTold_isToldByTheSecond() throws IOException {
    StitchedStream stream = stream(true, false);
    write(stream, "data: {\"id\":");
    stream.truncated();
    stream.resume(REST);
    write(stream, ROLE + LO);

    assertThat(out()).isEqualTo(ROLE + LO);
  }

  @Test
  void nothingLeft_isFinishedAsItsLimit() throws IOException {
    StitchedStream stream = stream(true, false);
    write(stream, ROLE + HEL);
    stream.truncated();
    stream.resume(REST);
    stream.finish(true, 5);

    assertThat(out()).isEqualTo(ROLE + HEL
        + chunk("one", 7, "\"delta\":{},\"logprobs\":null,\"finish_reason\":\"length\"")
        + "data: {\"id\":\"one\",\"created\":7,\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"total_tokens\":6,"
        + "\"completion_tokens\":1}}\n\ndata: [DONE]\n\n");
  }

  @Test
  void finishedBeforeTheCut_lacksOnlyItsTerminator() throws IOException {
    StitchedStream stream = stream(true, false);
    write(stream, ROLE + HEL + END);
    stream.truncated();
    stream.resume(REST);
    assertThat(stream.answer().finished()).isTrue();
    stream.finish(false, 5);

    assertThat(out()).isEqualTo(ROLE + HEL + END + "data: [DONE]\n\n");
  }

  @Test
  void callsThoughtsAndLongTexts_areNotContinued() throws IOException {
    assertThat(unfit("\"delta\":{\"tool_calls\":[{\"index\":0}]}")).isEqualTo("tools");
    assertThat(unfit("\"delta\":{\"reasoning_content\":\"hm\"}")).isEqualTo("reasoning");
    assertThat(unfit("\"delta\":{\"content\":\"" + "x".repeat(StitchedStream.MAX_HELD / 2) + "\"}")).isNull();
    String half = chunk("one", 7, "\"delta\":{\"content\":\"" + "x".repeat(StitchedStream.MAX_HELD / 2 + 1) + "\"}");
    StitchedStream stream = stream(true, false);
    write(stream, half + half);

    assertThat(stream.answer().unsupportedReason()).isEqualTo("too-long");
    assertThat(stream.answer().text()).isEmpty();
  }

  @Test
  void eventTooLongToBeHeld_passesAsItComes() throws IOException {
    StitchedStream stream = stream(true, false);
    String event = chunk("one", 7, "\"delta\":{\"content\":\"" + "x".repeat(2 * StitchedStream.MAX_HELD) + "\"}");
    write(stream, event + LO, new Random(2), 400_000);

    assertThat(out()).isEqualTo(event + LO);
    assertThat(stream.answer().unsupportedReason()).isEqualTo("too-long");
  }

  @Test
  void textThatNobodyCanRead_isNotContinued() throws IOException {
    for (String said : new String[] {"half \\ud83d", "no \\escape", "a\tb"}) {
      StitchedStream stream = stream(true, false);
      write(stream, chunk("one", 7, "\"delta\":{\"content\":\"" + said + "\"}"));
      stream.truncated();
      stream.resume(REST);

      assertThat(stream.answer().unsupportedReason()).as(said).isEqualTo("text");
    }
  }

  @Test
  void characterInTwoEvents_isRead() throws IOException {
    StitchedStream stream = stream(true, false);
    write(stream, chunk("one", 7, "\"delta\":{\"content\":\"\\ud83d\"}")
        + chunk("one", 7, "\"delta\":{\"content\":\"\\ude00\"}"));
    stream.truncated();
    stream.resume(REST);

    assertThat(stream.answer().unsupportedReason()).isNull();
    assertThat(stream.answer().text()).isEqualTo("\uD83D\uDE00");
  }

  @Test
  void textThatIsNotKept_isStillCounted() throws IOException {
    StitchedStream stream = new StitchedStream(out::write, _ -> true, ApiPath.CHAT, false, new TextBudget(1));
    write(stream, HEL + LO);
    stream.truncated();
    stream.resume(REST);

    assertThat(stream.answer().hasText()).isTrue();
    assertThat(stream.answer().generated()).isEqualTo(2);
  }

  @Test
  void longFirstEvent_isNotRepeated() throws IOException {
    StitchedStream stream = stream(true, false);
    write(stream, "data: {\"id\":\"one\",\"prompt_token_ids\":[" + "7,".repeat(3000) + "7],\"choices\":[]}\n\n" + HEL);
    stream.truncated();
    stream.resume(REST);
    out.reset();
    stream.finish(true, 5);

    assertThat(out()).contains("{\"id\":\"one\"").doesNotContain("prompt_token_ids");
  }

  @Test
  void eventOfTheSecondThatIsNoUtf8_isKnown() throws IOException {
    StitchedStream stream = stream(true, false);
    write(stream, ROLE + HEL);
    stream.truncated();
    stream.resume(REST);
    byte[] broken = LO.replace("lo", "l?").getBytes(StandardCharsets.UTF_8);
    broken[LO.indexOf("lo") + 1] = (byte) 0xff;
    stream.write(broken, 0, broken.length);

    assertThat(stream.answer().text()).isEqualTo("Hell\uFFFD");
    assertThat(stream.answer().generated()).isEqualTo(2);
  }

  @Test
  void countsBeyondTheIntegers_areNeverNegative() throws IOException {
    StitchedStream stream = stream(true, false);
    String most = Integer.toString(Integer.MAX_VALUE);
    String usage = "{\"prompt_tokens\":" + most + ",\"completion_tokens\":" + most + "}";
    String said = HEL.replace("]}\n", "],\"usage\":" + usage + "}\n");
    write(stream, said);
    stream.truncated();
    stream.resume(REST);
    write(stream, said);

    assertThat(stream.answer().generated()).isEqualTo(Integer.MAX_VALUE);
    assertThat(out()).contains("\"total_tokens\":4294967294");
  }

  @Test
  void nothing_comesBehindTheTerminator() throws IOException {
    StitchedStream stream = stream(true, false);
    write(stream, ROLE + HEL + "data: [DONE]\n\n");
    stream.truncated();
    stream.resume(REST);
    stream.finish(true, 5);

    assertThat(out()).isEqualTo(ROLE + HEL + "data: [DONE]\n\n");
  }

  @Test
  void engineFailureInAStreamThatIsWhole_isShown() throws IOException {
    StitchedStream stream = stream(true, false);
    String failure = "data: {\"error\":{\"code\":500}}\n\n";
    write(stream, ROLE + failure);
    stream.complete();

    assertThat(out()).isEqualTo(ROLE + failure);
  }

  /** Nobody has to make good, later, what the client has seen; and no budget counts what is kept from it. */
  @Test
  void engineFailure_thatIsLong_passes() throws IOException {
    StitchedStream stream = stream(true, false);
    String failure =
        "data: {\"error\":{\"code\":500,\"message\":\"" + "x".repeat(StitchedStream.MAX_FAILURE) + "\"}}\n\n";
    write(stream, ROLE + failure);

    assertThat(out()).isEqualTo(ROLE + failure);
    assertThat(stream.failed()).isTrue();
  }

  @Test
  void engineFailure_behindAnErrorThatHasPassed_passesToo() throws IOException {
    StitchedStream stream = stream(true, false);
    String errors = "data: {\"error\":{\"code\":400}}\n\ndata: {\"error\":{\"code\":500}}\n\n";
    write(stream, ROLE + errors);

    assertThat(out()).isEqualTo(ROLE + errors);
    assertThat(stream.failed()).isTrue();
  }

  private @Nullable String unfit(String choice) throws IOException {
    StitchedStream stream = stream(true, false);
    write(stream, chunk("one", 7, choice));
    return stream.answer().unsupportedReason();
  }

  private StitchedStream stream(boolean chat, boolean withoutUsage) {
    return new StitchedStream(
        out::write, _ -> true, chat ? ApiPath.CHAT : ApiPath.COMPLETIONS, withoutUsage, new TextBudget(64 << 20));
  }

  private String out() {
    return out.toString(StandardCharsets.UTF_8);
  }

  private static String chunk(String id, int created, String choice) {
    return "data: {\"id\":\"" + id + "\",\"created\":" + created + ",\"choices\":[{\"index\":0," + choice + "}]}\n\n";
  }

  private static String usage(String id, int created, int prompt, int completion, int total, int cached) {
    return "data: {\"id\":\"" + id + "\",\"created\":" + created + ",\"choices\":[],\"usage\":{\"prompt_tokens\":"
        + prompt + ",\"completion_tokens\":" + completion + ",\"total_tokens\":" + total
        + ",\"prompt_tokens_details\":{\"cached_tokens\":" + cached + ",\"created_cache_tokens\":1}}}\n\n";
  }

  private static void write(StitchedStream stream, String text) throws IOException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    stream.write(bytes, 0, bytes.length);
  }

  private static void write(StitchedStream stream, String text, Random random) throws IOException {
    write(stream, text, random, 40);
  }

  private static void write(StitchedStream stream, String text, Random random, int longest) throws IOException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    for (int at = 0; at < bytes.length; ) {
      int count = Math.min(bytes.length - at, 1 + random.nextInt(longest));
      stream.write(bytes, at, count);
      at += count;
    }
  }
}
