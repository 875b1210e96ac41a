package io.kvasir.execution.dialect;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.http.ByteSink;
import java.io.IOException;

/** Chunks of a chat as the events of a response: one item is open at a time. One thread at a time. */
final class ResponsesStream extends ChatStream {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  /** What the open item is. */
  private enum Item { NONE, REASONING, MESSAGE, CALL }

  private final JsonMembers client;
  private final StringBuilder itemText = new StringBuilder();
  private ResponseObject response;
  private Item open = Item.NONE;
  private int openCall = -1;
  private ObjectNode item = JSON.objectNode();
  private String finish = "stop";
  private int sequence;

  ResponsesStream(JsonMembers client, ByteSink out) {
    super(out, false);
    this.client = client;
    this.response = new ResponseObject(client, JSON.objectNode());
  }

  @Override
  void begin(JsonNode chunk) throws IOException {
    response = new ResponseObject(client, chunk);
    lifecycle("response.created");
    lifecycle("response.in_progress");
  }

  @Override
  void reasoning(String text) throws IOException {
    if (open != Item.REASONING) {
      close();
      ObjectNode begun = response.reasoning("");
      begun.putArray("content");
      open(Item.REASONING, begun);
    }
    itemText.append(text);
    emit(inItem("response.reasoning_text.delta").put("content_index", 0).put("delta", text));
  }

  @Override
  void text(String text) throws IOException {
    if (open != Item.MESSAGE) {
      close();
      open(Item.MESSAGE, response.message("", "in_progress"));
      ObjectNode part = inItem("response.content_part.added").put("content_index", 0);
      part.set("part", ResponseObject.textPart(""));
      emit(part);
    }
    itemText.append(text);
    ObjectNode delta = inItem("response.output_text.delta").put("content_index", 0).put("delta", text);
    delta.putArray("logprobs");
    emit(delta);
  }

  @Override
  void call(int number, String id, String name, String arguments) throws IOException {
    if (open != Item.CALL || openCall != number) {
      close();
      openCall = number;
      open(Item.CALL, response.call(id, name, "", "in_progress"));
    }
    if (!arguments.isEmpty()) {
      itemText.append(arguments);
      emit(inItem("response.function_call_arguments.delta").put("delta", arguments));
    }
  }

  @Override
  void finish(JsonNode choice) {
    finish = choice.path("finish_reason").asText("stop");
  }

  @Override
  void count(JsonNode usage) {
    response.count(usage);
  }

  @Override
  void done() throws IOException {
    if (open == Item.NONE && response.items() == 0) {
      // An empty answer is a message without words.
      open(Item.MESSAGE, response.message("", "in_progress"));
    }
    close();
    response.finish(finish);
    boolean whole = response.json().path("status").asText().equals("completed");
    lifecycle(whole ? "response.completed" : "response.incomplete");
  }

  @Override
  void failed(String message) throws IOException {
    response.json().put("status", "failed").putObject("error").put("code", "server_error").put("message", message);
    lifecycle("response.failed");
  }

  /** Opens an item, whose id has its number: the one before it is closed. */
  private void open(Item kind, ObjectNode begun) throws IOException {
    open = kind;
    item = begun;
    ObjectNode added = event("response.output_item.added").put("output_index", response.items());
    added.set("item", begun);
    emit(added);
  }

  private void close() throws IOException {
    String text = itemText.toString();
    itemText.setLength(0);
    ObjectNode whole = item.deepCopy();
    switch (open) {
      case NONE -> {
        return;
      }
      case REASONING -> {
        whole.putArray("content").addObject().put("type", "reasoning_text").put("text", text);
        emit(inItem("response.reasoning_text.done").put("content_index", 0).put("text", text));
      }
      case MESSAGE -> {
        ObjectNode words = inItem("response.output_text.done").put("content_index", 0).put("text", text);
        words.putArray("logprobs");
        emit(words);
        ObjectNode part = inItem("response.content_part.done").put("content_index", 0);
        part.set("part", ResponseObject.textPart(text));
        emit(part);
        whole.put("status", "completed").putArray("content").add(ResponseObject.textPart(text));
      }
      case CALL -> {
        emit(inItem("response.function_call_arguments.done").put("arguments", text));
        whole.put("status", "completed").put("arguments", text);
      }
    }
    ObjectNode done = event("response.output_item.done").put("output_index", response.items());
    done.set("item", whole);
    emit(done);
    response.add(whole);
    open = Item.NONE;
  }

  private void lifecycle(String type) throws IOException {
    ObjectNode event = event(type);
    event.set("response", response.json());
    emit(event);
  }

  private ObjectNode inItem(String type) {
    return event(type).put("item_id", item.path("id").asText()).put("output_index", response.items());
  }

  private ObjectNode event(String type) {
    return JSON.objectNode().put("type", type).put("sequence_number", sequence++);
  }
}
