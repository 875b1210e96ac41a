package io.kvasir.prompt.chat;

import static io.kvasir.prompt.Bodies.json;
import static io.kvasir.prompt.Bodies.object;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What responses and Anthropic messages become as chat completions. */
final class ChatBodiesTest {
  private static final int ITEMS = 20_000;
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private static ObjectNode vllm(ObjectNode messages, MessagesRules rules) {
    return VllmMessagesBody.chat(messages, VllmVersion.NEWEST, rules);
  }

  private static void becomes(ObjectNode chat, String expected) {
    // As text: the order of fields shows where a template prints them.
    assertThat(chat.toString()).isEqualTo(json(expected).toString());
  }

  @Test
  void translatedResponses_instructionsAndText_areSystemAndUser() {
    becomes(TranslatedResponsesBody.chat(object("{'model': 'm', 'instructions': 'Be brief.', 'input': 'Hello'}")), """
        {'messages': [{'role': 'system', 'content': 'Be brief.'}, {'role': 'user', 'content': 'Hello'}]}""");
  }

  @Test
  void translatedResponses_items_areTurnsOfTheConversation() {
    becomes(TranslatedResponsesBody.chat(object("""
        {'input': [
          {'role': 'user', 'content': [{'type': 'input_text', 'text': 'Weather?'},
            {'type': 'input_image', 'image_url': 'u', 'detail': 'low'}]},
          {'type': 'reasoning', 'content': [{'type': 'reasoning_text', 'text': 'Ask the tool.'}]},
          {'type': 'function_call', 'call_id': 'c1', 'name': 'weather', 'arguments': '{}'},
          {'type': 'function_call', 'call_id': 'c2', 'name': 'time', 'arguments': '{}'},
          {'type': 'function_call_output', 'call_id': 'c1', 'output': 'sunny'},
          {'type': 'message', 'role': 'assistant', 'content': [{'type': 'output_text', 'text': 'Sunny.'}]}],
         'tools': [{'type': 'function', 'name': 'weather', 'parameters': {}}, {'type': 'web_search'}],
         'reasoning': {'effort': 'low'}}""")), """
        {'messages': [
          {'role': 'user', 'content': [{'type': 'text', 'text': 'Weather?'},
            {'type': 'image_url', 'image_url': {'url': 'u', 'detail': 'low'}}]},
          {'role': 'assistant', 'reasoning': 'Ask the tool.', 'tool_calls': [
            {'id': 'c1', 'type': 'function', 'function': {'name': 'weather', 'arguments': '{}'}},
            {'id': 'c2', 'type': 'function', 'function': {'name': 'time', 'arguments': '{}'}}]},
          {'role': 'tool', 'tool_call_id': 'c1', 'content': 'sunny'},
          {'role': 'assistant', 'content': 'Sunny.'}],
         'tools': [{'type': 'function', 'function': {'name': 'weather', 'parameters': {}}}],
         'reasoning_effort': 'low'}""");
  }

  @Test
  void translatedResponses_toolsNotToBeCalled_areNotShown() {
    assertThat(TranslatedResponsesBody.chat(object("""
        {'input': '', 'tool_choice': 'none', 'tools': [{'type': 'function', 'name': 'f'}]}""")).has("tools")).isFalse();
  }

  /** An answer and the calls after it are one turn, as agents send them back; one that is not over is gone on from. */
  @Test
  void responses_items_areOneTurn_andTheLastIsContinued() {
    ObjectNode body = object("""
        {'input': [
          {'type': 'reasoning', 'summary': [{'type': 'summary_text', 'text': 'Ask.'}]},
          {'type': 'message', 'role': 'assistant', 'content': [{'type': 'output_text', 'text': 'I ask.'}]},
          {'type': 'custom_tool_call', 'call_id': 'c1', 'name': 'patch', 'input': 'a b'},
          {'type': 'custom_tool_call_output', 'call_id': 'c1', 'output': 'done'},
          {'type': 'message', 'role': 'assistant', 'status': 'incomplete',
           'content': [{'type': 'output_text', 'text': 'It is'}]}],
         'tools': [{'type': 'custom', 'name': 'patch'}, {'type': 'web_search'}]}""");
    becomes(VllmResponsesBody.chat(body, VllmVersion.NEWEST), """
        {'messages': [
          {'role': 'assistant', 'reasoning': 'Ask.', 'content': 'I ask.', 'tool_calls': [
            {'id': 'c1', 'function': {'type': 'function', 'name': 'patch', 'arguments': '{\\"input\\":\\"a b\\"}'},
             'type': 'function'}]},
          {'role': 'tool', 'content': 'done', 'tool_call_id': 'c1'},
          {'role': 'assistant', 'content': 'It is'}],
         'continue_final_message': true, 'add_generation_prompt': false,
         'tools': [{'type': 'function', 'function': {'name': 'patch', 'description': null, 'parameters': {
          'type': 'object',
          'properties': {'input': {'type': 'string', 'description': 'The freeform text payload for this tool.'}},
          'required': ['input'], 'additionalProperties': false}}}]}""");
  }

  @Test
  void messages_effort_isThatOfReasoning_unlessThereIsNoThinking() {
    String body = "{'messages': [{'role': 'user', 'content': 'Hello'}], 'output_config': {'effort': 'high'}%s}";
    String messages = "{'messages': [{'role': 'user', 'content': 'Hello'}]%s}";
    becomes(
        vllm(object(body.formatted(", 'thinking': {'type': 'adaptive'}")), MessagesRules.UNKNOWN),
        messages.formatted(", 'reasoning_effort': 'high'"));
    String disabled = body.formatted(", 'thinking': {'type': 'disabled'}");
    becomes(vllm(object(disabled), MessagesRules.UNKNOWN), messages.formatted(", 'reasoning_effort': 'none'"));
    becomes(
        vllm(object(disabled), new MessagesRules(false, "low", null, false)),
        messages.formatted(", 'reasoning_effort': 'low'"));
  }

  @Test
  void messages_systemBetweenOthers_staysThere_orIsMerged() {
    String body = """
        {'system': 'Be brief. ',
         'messages': [
          {'role': 'user', 'content': 'Hello'},
          {'role': 'system', 'content': [{'type': 'text', 'text': 'Be '}, {'type': 'text', 'text': 'kind.'}]},
          {'role': 'system', 'content': 'x-anthropic-billing-header: cc=7f3a'},
          {'role': 'user', 'content': 'So?'}]}""";
    becomes(vllm(object(body), new MessagesRules(false, null, null, false)), """
        {'messages': [
          {'role': 'system', 'content': 'Be brief. '}, {'role': 'user', 'content': 'Hello'},
          {'role': 'system', 'content': 'Be kind.'}, {'role': 'user', 'content': 'So?'}]}""");
    becomes(vllm(object(body), new MessagesRules(true, null, null, false)), """
        {'messages': [
          {'role': 'system', 'content': 'Be brief. Be kind.'}, {'role': 'user', 'content': 'Hello'},
          {'role': 'user', 'content': 'So?'}]}""");
  }

  @Test
  void messages_systemBlocks_areJoinedWithoutBilling() {
    becomes(vllm(object("""
        {'system': [{'type': 'text', 'text': 'x-anthropic-billing-header: cc=7f3a'},
                    {'type': 'text', 'text': 'Be brief. '}, {'type': 'text', 'text': 'Be kind.'}],
         'messages': [{'role': 'user', 'content': 'Hello'}]}"""), MessagesRules.UNKNOWN), """
        {'messages': [{'role': 'system', 'content': 'Be brief. Be kind.'}, {'role': 'user', 'content': 'Hello'}]}""");
  }

  @Test
  void messages_toolUseAndResults_areCallsAndToolMessages() {
    becomes(vllm(object("""
        {'messages': [
          {'role': 'user', 'content': [{'type': 'text', 'text': 'Weather?'}]},
          {'role': 'assistant', 'content': [{'type': 'thinking', 'thinking': 'Hm.'}, {'type': 'text', 'text': 'Wait.'},
            {'type': 'tool_use', 'id': 't1', 'name': 'weather', 'input': {}}]},
          {'role': 'user', 'content': [
            {'type': 'tool_result', 'tool_use_id': 't1', 'content': [{'type': 'text', 'text': 'sunny'}]},
            {'type': 'text', 'text': 'So?'}]},
          {'role': 'user', 'content': [{'type': 'image', 'source': {'type': 'url', 'url': 'u'}}]}],
         'tools': [{'name': 'weather', 'input_schema': {'type': 'object'}}]}"""), MessagesRules.UNKNOWN), """
        {'messages': [
          {'role': 'user', 'content': 'Weather?'},
          {'role': 'assistant', 'tool_calls': [
            {'id': 't1', 'type': 'function', 'function': {'name': 'weather', 'arguments': '{}'}}],
            'reasoning': 'Hm.', 'content': 'Wait.'},
          {'role': 'tool', 'tool_call_id': 't1', 'content': 'sunny'},
          {'role': 'user', 'content': 'So?'},
          {'role': 'user', 'content': [{'type': 'image_url', 'image_url': {'type': 'url', 'url': 'u'}}]}],
         'tools': [{'type': 'function', 'function':
            {'name': 'weather', 'description': null, 'parameters': {'type': 'object'}}}]}""");
  }

  @Test
  void sglangResponses_itemsOfATurn_areJoinedByTheirKind() {
    ObjectNode body = object("""
        {'input': [
          {'role': 'assistant', 'content': 'a', 'reasoning_content': 'r', 'tool_calls': [{'id': 'x'}]},
          {'type': 'reasoning', 'summary': [{'text': 's'}]},
          {'role': 'assistant', 'content': ''},
          {'role': 'assistant', 'content': 'b'},
          {'type': 'function_call', 'call_id': 'c', 'name': 'f', 'arguments': '{}'},
          {'role': 'assistant', 'content': [{'type': 'output_text', 'text': 'p'}]},
          {'role': 'assistant', 'content': 'c'},
          {'role': 'user', 'content': 'u'},
          {'type': 'reasoning', 'summary': [{'text': 't'}]},
          {'role': 'assistant', 'content': 'd'},
          {'role': 'assistant', 'content': 'e'}]}""");
    ObjectNode sent = body.deepCopy();
    becomes(SglangResponsesBody.chat(body, SglangVersion.of("0.5.23", null), false), """
        {'messages': [
          {'role': 'assistant', 'content': [
             {'type': 'text', 'text': 'a\\n\\nb'}, {'type': 'text', 'text': 'p'}, {'type': 'text', 'text': 'c'}],
           'reasoning_content': 'r\\ns', 'tool_calls': [{'id': 'x'},
             {'id': 'c', 'type': 'function', 'function': {'name': 'f', 'arguments': '{}'}}]},
          {'role': 'user', 'content': 'u'},
          {'role': 'assistant', 'reasoning_content': 't', 'content': 'd\\n\\ne'}]}""");
    assertThat(body).isEqualTo(sent);
  }

  /** A turn of one item after the other must not cost more than all of them. */
  @ParameterizedTest
  @ValueSource(strings = {
      "{'type': 'function_call', 'call_id': 'c', 'name': 'f', 'arguments': '{}'}",
      "{'type': 'message', 'role': 'assistant', 'content': 'Then I look for it.'}",
      "{'type': 'message', 'role': 'assistant', 'content': [{'type': 'output_text', 'text': 'Then.'}]}",
      "{'type': 'reasoning', 'summary': [{'type': 'summary_text', 'text': 'They look for it.'}]}"})
  void sglangResponses_manyItemsOfOneTurn_areReadInTheTimeOfEach(String item) {
    ObjectNode body = object("{}");
    ArrayNode input = body.putArray("input");
    IntStream.range(0, ITEMS).forEach(_ -> input.add(object(item)));
    SglangVersion engine = SglangVersion.of("0.5.23", null);
    assertThat(allocated(() -> assertThat(SglangResponsesBody.chat(body, engine, false).path("messages")).hasSize(1)))
        .isLessThan(3000L * ITEMS);
  }

  @Test
  void tensorRtMessages_manyThoughtsOfOneTurn_areReadInTheTimeOfEach() {
    ObjectNode body = object("{'messages': [{'role': 'assistant'}]}");
    ArrayNode blocks = ((ObjectNode) body.at("/messages/0")).putArray("content");
    IntStream.range(0, ITEMS).forEach(_ -> blocks.add(object("{'type': 'thinking', 'thinking': 'They look for it.'}")));
    assertThat(allocated(() -> assertThat(
        TensorRtMessagesBody.chat(body).at("/messages/0/reasoning").textValue()).startsWith("They look for it.They")))
        .isLessThan(3000L * ITEMS);
  }

  /** The least of several runs: code that is interpreted yet takes some times more. */
  private static long allocated(Runnable work) {
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 5; i++) {
      long before = THREADS.getCurrentThreadAllocatedBytes();
      work.run();
      least = Math.min(least, THREADS.getCurrentThreadAllocatedBytes() - before);
    }
    return least;
  }
}
