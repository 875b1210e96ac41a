package io.kvasir.gateway.body;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ContainerNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.http.RequestMemory;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Reads a request's JSON as a tree, whose nodes it books in the request's memory before it makes them: a few bytes of
 * JSON, such as {@code [{},{},}, take fifty times as many as a tree. The texts' own bytes are booked with the body, see
 * {@link RequestMemory#READING_PER_BYTE}. Of what cannot be read to its end nothing stays booked. Thread-safe.
 */
final class JsonTreeReader {
  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  // What a value takes at most, in bytes: as a node, and once more as the value that chat templates read.
  private static final int OBJECT_BYTES = 320;
  private static final int ARRAY_BYTES = 240;
  private static final int TEXT_BYTES = 64;
  private static final int NUMBER_BYTES = 40;
  private static final int MEMBER_BYTES = 128;
  private static final int ELEMENT_BYTES = 16;

  /** JSON in a text, which is read when a template is rendered: calls of tools have it. */
  private static final String TEXT_OF_JSON = "arguments";

  /** As much is booked at once. */
  private static final int STEP_BYTES = 8 << 10;

  private final JsonFactory factory =
      new TextParser.Factory(new JsonFactoryBuilder()
          .streamReadConstraints(
              // Images are sent inside strings; the server limits the whole body.
              StreamReadConstraints.builder().maxStringLength(Integer.MAX_VALUE).build())
          .disable(StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION)
          // Names come from clients and are theirs to make up.
          .disable(JsonFactory.Feature.INTERN_FIELD_NAMES));

  /** The tree's memory does not fit into what is left of the budget. */
  static final class OutOfMemoryBudgetException extends Exception {
    private static final long serialVersionUID = 1L;

    private final boolean fitsAlone;
    private final transient RequestMemory.Shortage shortage;

    OutOfMemoryBudgetException(boolean fitsAlone, RequestMemory.Shortage shortage) {
      super("the JSON's tree does not fit into the memory budget", null, false, false);
      this.fitsAlone = fitsAlone;
      this.shortage = shortage;
    }

    /** What did not fit. */
    RequestMemory.Shortage shortage() {
      return shortage;
    }

    /** Whether it would fit, as far as it was read, if there were no other requests. */
    boolean fitsAlone() {
      return fitsAlone;
    }
  }

  /**
   * Reads the one value that {@code json} holds; missing when it holds none.
   *
   * @throws IOException when it is not JSON, holds more than one value, or exceeds a limit on depth or lengths
   */
  JsonNode read(byte[] json, RequestMemory memory) throws IOException, OutOfMemoryBudgetException {
    try (JsonParser parser = factory.createParser(json)) {
      JsonToken first = parser.nextToken();
      if (first == null) {
        return MissingNode.getInstance();
      }
      TreeBuilder tree = new TreeBuilder(parser, memory);
      boolean whole = false;
      try {
        JsonNode value = tree.build(first);
        JsonToken more = parser.nextToken();
        if (more != null) {
          throw new JsonParseException(parser, "there is more after its first value", parser.currentTokenLocation());
        }
        whole = true;
        return value;
      } finally {
        if (!whole) {
          tree.discard();
        }
      }
    }
  }

  private static final class TreeBuilder {
    private final JsonParser parser;
    private final RequestMemory memory;
    private final Deque<ContainerNode<?>> parents = new ArrayDeque<>();
    private long booked;
    private long needed;

    TreeBuilder(JsonParser parser, RequestMemory memory) {
      this.parser = parser;
      this.memory = memory;
    }

    JsonNode build(JsonToken first) throws IOException, OutOfMemoryBudgetException {
      JsonNode root = value(first);
      if (!(root instanceof ContainerNode<?>)) {
        return root;
      }
      @Nullable ContainerNode<?> in = (ContainerNode<?>) root;
      while (in != null) {
        JsonToken token = next();
        if (token == JsonToken.END_OBJECT || token == JsonToken.END_ARRAY) {
          in = parents.poll();
          continue;
        }
        JsonNode child;
        if (in instanceof ObjectNode object) {
          String name = parser.currentName();
          need(MEMBER_BYTES);
          child = value(next());
          object.set(name, child);
        } else {
          need(ELEMENT_BYTES);
          child = value(token);
          ((ArrayNode) in).add(child);
        }
        if (child instanceof ContainerNode<?> container) {
          parents.push(in);
          in = container;
        }
      }
      return root;
    }

    /** Gives the memory back: nothing is kept of the tree. */
    void discard() {
      memory.free(booked);
    }

    private JsonToken next() throws IOException {
      return Objects.requireNonNull(parser.nextToken(), "the parser reports a value without an end itself");
    }

    private JsonNode value(JsonToken token) throws IOException, OutOfMemoryBudgetException {
      return switch (token) {
        case START_OBJECT -> {
          need(OBJECT_BYTES);
          yield NODES.objectNode();
        }
        case START_ARRAY -> {
          need(ARRAY_BYTES);
          yield NODES.arrayNode();
        }
        case VALUE_STRING -> {
          need(TEXT_BYTES);
          String text = parser.getText();
          if (TEXT_OF_JSON.equals(parser.currentName())) {
            needValuesIn(text);
          }
          yield NODES.textNode(text);
        }
        case VALUE_NUMBER_INT -> {
          need(NUMBER_BYTES);
          yield switch (parser.getNumberType()) {
            case INT -> NODES.numberNode(parser.getIntValue());
            case LONG -> NODES.numberNode(parser.getLongValue());
            default -> NODES.numberNode(parser.getBigIntegerValue());
          };
        }
        case VALUE_NUMBER_FLOAT -> {
          need(NUMBER_BYTES);
          yield NODES.numberNode(parser.getDoubleValue());
        }
        case VALUE_TRUE -> NODES.booleanNode(true);
        case VALUE_FALSE -> NODES.booleanNode(false);
        case VALUE_NULL -> NODES.nullNode();
        case END_OBJECT, END_ARRAY, FIELD_NAME, VALUE_EMBEDDED_OBJECT, NOT_AVAILABLE ->
            throw new IllegalStateException(token + " begins no value");
      };
    }

    /** Each value in a text of JSON follows one of these characters, the first one aside. */
    private void needValuesIn(String text) throws OutOfMemoryBudgetException {
      long values = 0;
      for (int i = 0; i < text.length(); i++) {
        switch (text.charAt(i)) {
          case '[', '{', ',', ':' -> values++;
          default -> {}
        }
      }
      need(values * OBJECT_BYTES);
    }

    private void need(long bytes) throws OutOfMemoryBudgetException {
      needed += bytes;
      if (needed > booked) {
        long more = Math.max(STEP_BYTES, needed - booked);
        if (!memory.tryBook(more)) {
          throw new OutOfMemoryBudgetException(memory.couldBook(more), memory.shortage(more));
        }
        booked += more;
      }
    }
  }
}
