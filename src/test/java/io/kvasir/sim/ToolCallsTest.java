package io.kvasir.sim;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.routing.Role;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.sim.transfer.TransferDialect;
import io.kvasir.sim.transfer.TransferSettings;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls of tools in the APIs of agents. */
final class ToolCallsTest extends EngineTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String SCHEMA = """
      {"type":"object","properties":{"city":{"type":"string"},"unit":{"enum":["C","F"]},
       "days":{"type":"integer","minimum":3,"maximum":7},"note":{"type":"string"}},
       "required":["city","unit","days"]}""";

  @Test
  void chatWithTools_callsTheFirst_asVllmTells() throws Exception {
    SimEngine engine = start(settings());

    JsonNode choice = ask(engine, CHAT, chat().toString()).at("/choices/0");

    assertThat(choice.path("finish_reason").asText()).isEqualTo("tool_calls");
    assertThat(choice.path("message").fieldNames()).toIterable().containsExactly(
        "role", "content", "refusal", "annotations", "audio", "function_call", "tool_calls", "reasoning");
    assertThat(choice.at("/message/content").isNull()).isTrue();
    JsonNode call = choice.at("/message/tool_calls/0");
    assertThat(call.path("id").asText()).matches("chatcmpl-tool-[0-9a-f]{16}");
    assertThat(call.path("type").asText()).isEqualTo("function");
    assertThat(call.at("/function/name").asText()).isEqualTo("get_weather");
    checkArguments(call.at("/function/arguments").asText());
  }

  @Test
  void chatStreamed_tellsTheNameOnce_andTheSameArguments() throws Exception {
    SimEngine engine = start(settings());
    ObjectNode request = chat().put("stream", true);
    request.putObject("stream_options").put("include_usage", true);

    List<JsonNode> chunks = events(post(engine, CHAT, request.toString()).body());

    List<String> names = new ArrayList<>();
    StringBuilder arguments = new StringBuilder();
    for (JsonNode chunk : chunks) {
      for (JsonNode call : chunk.at("/choices/0/delta/tool_calls")) {
        if (call.has("id")) {
          names.add(call.at("/function/name").asText());
          assertThat(call.fieldNames()).toIterable().containsExactly("id", "type", "index", "function");
        }
        arguments.append(call.at("/function/arguments").asText());
      }
      assertThat(chunk.at("/choices/0/delta/content").asText("")).as("no markup").isEmpty();
    }
    assertThat(names).containsExactly("get_weather");
    JsonNode whole = ask(engine, CHAT, chat().toString());
    assertThat(arguments.toString())
        .isEqualTo(whole.at("/choices/0/message/tool_calls/0/function/arguments").asText());
    assertThat(chunks.get(chunks.size() - 2).at("/choices/0/finish_reason").asText()).isEqualTo("tool_calls");
    assertThat(chunks.getLast().at("/usage/completion_tokens").asInt())
        .isEqualTo(whole.at("/usage/completion_tokens").asInt());
  }

  /** The result of the tool is answered with text, and what was called is found in the cache. */
  @Test
  void toolsResult_isAnsweredWithText_andTheCallIsCached() throws Exception {
    SimEngine engine = start(settings());
    ObjectNode request = chat();
    JsonNode called = ask(engine, CHAT, request.toString());

    addResult(request, called);
    JsonNode answer = ask(engine, CHAT, request.toString());

    assertThat(answer.at("/choices/0/finish_reason").asText()).isEqualTo("stop");
    assertThat(answer.at("/choices/0/message/content").asText()).endsWith(".");
    // The last token of an answer, here its end, is never computed.
    int known = called.at("/usage/total_tokens").asInt() - 1;
    assertThat(answer.at("/usage/prompt_tokens_details/cached_tokens").asInt()).isEqualTo(known / 16 * 16);
  }

  /** Of agents whose result is a tool's, too: each tool that must be called is, and then the last one again. */
  @Test
  void requiredCall_isOfAToolThatWasNotCalledYet() throws Exception {
    SimEngine engine = start(settings());
    ObjectNode request = chat().put("tool_choice", "required");
    tool((ArrayNode) request.path("tools"), "final_result");

    List<String> names = new ArrayList<>();
    for (int turn = 0; turn < 3; turn++) {
      JsonNode answer = ask(engine, CHAT, request.toString());
      assertThat(answer.at("/choices/0/finish_reason").asText()).isEqualTo("tool_calls");
      assertThat(answer.at("/choices/0/message/content").asText("null")).isEmpty();
      names.add(answer.at("/choices/0/message/tool_calls/0/function/name").asText());
      addResult(request, answer);
    }

    assertThat(names).containsExactly("get_weather", "final_result", "final_result");
  }

  @Test
  void namedCall_endsWithStop_asVllms() throws Exception {
    SimEngine engine = start(settings());
    ObjectNode request = chat();
    tool((ArrayNode) request.path("tools"), "other");
    request.putObject("tool_choice").put("type", "function").putObject("function").put("name", "other");

    JsonNode whole = ask(engine, CHAT, request.toString()).at("/choices/0");
    List<JsonNode> chunks = events(post(engine, CHAT, request.put("stream", true).toString()).body());

    assertThat(whole.at("/message/tool_calls/0/function/name").asText()).isEqualTo("other");
    assertThat(whole.path("finish_reason").asText()).isEqualTo("stop");
    assertThat(chunks.getLast().at("/choices/0/finish_reason").asText()).isEqualTo("stop");
  }

  /** What sends tools and fixes the length of answers gets text: traces and measurements do. */
  @ParameterizedTest
  @ValueSource(strings = {
      "\"max_tokens\":8", "\"max_tokens\":60,\"ignore_eos\":true", "\"min_tokens\":80,\"max_tokens\":90",
      "\"tool_choice\":\"none\""})
  void callThatNeedNotBe_isNot_whereTheLengthIsFixed(String fields) throws Exception {
    SimEngine engine = start(settings());

    JsonNode choice =
        ask(engine, CHAT, chat().toString().replaceFirst("\\{", "{" + fields + ",")).at("/choices/0");

    assertThat(choice.path("message").has("tool_calls")).isFalse();
    assertThat(choice.at("/message/content").asText()).matches("[A-Z][a-z]*( [a-z]+)+\\.?.*");
  }

  /** As vLLM's parser, which finds no call in the half of one. */
  @Test
  void requiredCall_thatIsCut_isText() throws Exception {
    SimEngine engine = start(settings());

    JsonNode choice = ask(engine, CHAT, chat().put("tool_choice", "required").put("max_tokens", 8).toString())
        .at("/choices/0");

    assertThat(choice.path("finish_reason").asText()).isEqualTo("length");
    assertThat(choice.path("message").has("tool_calls")).isFalse();
    assertThat(choice.at("/message/content").asText()).startsWith("<tool_call>");
  }

  @Test
  void severalChoices_differInTheirArguments() throws Exception {
    SimEngine engine = start(settings());

    JsonNode choices = ask(engine, CHAT, chat().put("n", 3).toString()).path("choices");

    List<String> arguments = new ArrayList<>();
    choices.forEach(choice -> arguments.add(choice.at("/message/tool_calls/0/function/arguments").asText()));
    assertThat(arguments).hasSize(3).doesNotHaveDuplicates().allSatisfy(ToolCallsTest::checkArguments);
  }

  /** The engine that reads the prompt is sent another limit than the one that goes on. */
  @Test
  void engineThatDecodes_callsAsOneThatDoesAll() throws Exception {
    SimEngine whole = start(settings());
    SimEngine prefill = start(splitter(Role.PREFILL));
    SimEngine decode = start(splitter(Role.DECODE));
    ObjectNode first = chat().put("max_tokens", 1);
    first.putObject("kv_transfer_params").put("do_remote_decode", true).put("do_remote_prefill", false);

    ObjectNode second = chat();
    second.set("kv_transfer_params", ask(prefill, CHAT, first.toString()).path("kv_transfer_params"));
    JsonNode answer = ask(decode, CHAT, second.toString());

    assertThat(decode.transferStats().received()).isEqualTo(1);
    String arguments = "/choices/0/message/tool_calls/0/function/arguments";
    assertThat(answer.at(arguments).asText()).isNotEmpty()
        .isEqualTo(ask(whole, CHAT, chat().toString()).at(arguments).asText());
  }

  @Test
  void responses_haveItemsOfCalls_wholeAndStreamed() throws Exception {
    SimEngine engine = start(settings());
    ObjectNode request = JSON.createObjectNode().put("store", false);
    ArrayNode input = request.putArray("input");
    input.addObject().put("role", "user").put("content", "The weather?");
    request.putArray("tools").addObject().put("type", "function").put("name", "get_weather")
        .set("parameters", JSON.readTree(SCHEMA));

    JsonNode call = ask(engine, "/v1/responses", request.toString()).at("/output/0");
    List<JsonNode> events = events(post(engine, "/v1/responses", request.put("stream", true).toString()).body());

    assertThat(call.path("type").asText()).isEqualTo("function_call");
    assertThat(call.path("status").asText()).isEqualTo("completed");
    checkArguments(call.path("arguments").asText());
    assertThat(events.stream().map(event -> event.path("type").asText()).distinct()).containsExactly(
        "response.created", "response.in_progress", "response.output_item.added",
        "response.function_call_arguments.delta", "response.function_call_arguments.done",
        "response.output_item.done", "response.completed");
    for (int i = 0; i < events.size(); i++) {
      assertThat(events.get(i).path("sequence_number").asInt()).isEqualTo(i);
    }
    assertThat(events.getLast().at("/response/output/0/arguments")).isEqualTo(call.path("arguments"));

    input.add(call);
    input.addObject().put("type", "function_call_output").put("call_id", call.path("call_id").asText())
        .put("output", "Rain");
    JsonNode answer = ask(engine, "/v1/responses", request.put("stream", false).toString());
    assertThat(answer.at("/output/0/content/0/text").asText()).endsWith(".");
  }

  @Test
  void messages_haveBlocksOfCalls_wholeAndStreamed() throws Exception {
    SimEngine engine = start(settings());
    ObjectNode request = JSON.createObjectNode().put("model", "kvasir-demo").put("max_tokens", 200);
    request.putArray("tools").addObject().put("name", "get_weather").set("input_schema", JSON.readTree(SCHEMA));
    ArrayNode messages = request.putArray("messages");
    messages.addObject().put("role", "user").put("content", "The weather?");

    JsonNode message = ask(engine, "/v1/messages", request.toString());
    List<JsonNode> events = events(post(engine, "/v1/messages", request.put("stream", true).toString()).body());

    assertThat(message.path("stop_reason").asText()).isEqualTo("tool_use");
    JsonNode block = message.at("/content/0");
    assertThat(block.path("type").asText()).isEqualTo("tool_use");
    checkArguments(block.path("input").toString());
    StringBuilder input = new StringBuilder();
    events.forEach(event -> input.append(event.at("/delta/partial_json").asText()));
    assertThat(JSON.readTree(input.toString())).isEqualTo(block.path("input"));
    assertThat(events.get(1).at("/content_block/type").asText()).isEqualTo("tool_use");
    assertThat(events.get(events.size() - 2).at("/delta/stop_reason").asText()).isEqualTo("tool_use");

    messages.addObject().put("role", "assistant").set("content", message.path("content"));
    messages.addObject().put("role", "user").putArray("content").addObject()
        .put("type", "tool_result").put("tool_use_id", block.path("id").asText()).put("content", "Rain");
    JsonNode answer = ask(engine, "/v1/messages", request.put("stream", false).toString());
    assertThat(answer.path("stop_reason").asText()).isEqualTo("end_turn");
    assertThat(answer.at("/content/0/text").asText()).endsWith(".");
  }

  private static SimSettings.Builder splitter(Role role) {
    return settings().role(role).transfer(
        TransferSettings.of(TransferDialect.VLLM_NIXL).withAddress(0, "engine-" + role));
  }

  private static void checkArguments(String arguments) {
    try {
      JsonNode read = JSON.readTree(arguments);
      assertThat(read.fieldNames()).toIterable().containsExactly("city", "unit", "days");
      assertThat(read.path("city").asText()).isNotBlank();
      assertThat(read.path("unit").asText()).isIn("C", "F");
      assertThat(read.path("days").isInt()).isTrue();
      assertThat(read.path("days").asInt()).isBetween(3, 7);
    } catch (JsonProcessingException e) {
      throw new AssertionError(arguments, e);
    }
  }

  private static void addResult(ObjectNode request, JsonNode answer) {
    ArrayNode messages = (ArrayNode) request.path("messages");
    JsonNode message = answer.at("/choices/0/message");
    messages.add(message);
    messages.addObject().put("role", "tool").put("content", "Rain, and then more of it.")
        .put("tool_call_id", message.at("/tool_calls/0/id").asText());
  }

  private static ObjectNode chat() throws Exception {
    ObjectNode request = JSON.createObjectNode().put("model", "kvasir-demo");
    request.putArray("messages").addObject().put("role", "user").put("content", "How is the weather? ".repeat(20));
    tool(request.putArray("tools"), "get_weather");
    return request;
  }

  private static void tool(ArrayNode tools, String name) throws Exception {
    tools.addObject().put("type", "function").putObject("function").put("name", name)
        .set("parameters", JSON.readTree(SCHEMA));
  }
}
