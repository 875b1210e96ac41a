package io.kvasir.sim.lmcache;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessagePackException;
import org.msgpack.core.MessageUnpacker;

/** Messages as MessagePack, byte for byte as msgspec writes LMCache's; also read as JSON, as its controller does. */
final class MessageCodec {
  private static final ObjectMapper JSON =
      JsonMapper.builder()
          .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
          .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .build();

  private MessageCodec() {}

  static byte[] encode(ControllerMessage message) {
    try (MessageBufferPacker out = MessagePack.newDefaultBufferPacker()) {
      pack(out, JSON.valueToTree(message));
      return out.toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException("A buffer in memory cannot fail to be written", e);
    }
  }

  /**
   * Reads a message.
   *
   * @throws IOException when it is none of {@link ControllerMessage}
   */
  static ControllerMessage decode(byte[] bytes) throws IOException {
    try {
      return JSON.readValue(bytes.length > 0 && bytes[0] == '{' ? text(bytes)
          : unpacked(bytes), ControllerMessage.class);
    } catch (JsonProcessingException | MessagePackException e) {
      throw new IOException(String.valueOf(e.getMessage()).lines().findFirst().orElse("unreadable"), e);
    }
  }

  private static String unpacked(byte[] bytes) throws IOException {
    try (MessageUnpacker in = MessagePack.newDefaultUnpacker(bytes)) {
      return in.unpackValue().toJson();
    }
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static void pack(MessageBufferPacker out, JsonNode value) throws IOException {
    switch (value.getNodeType()) {
      case OBJECT -> {
        out.packMapHeader(value.size());
        for (var field : value.properties()) {
          out.packString(field.getKey());
          pack(out, field.getValue());
        }
      }
      case ARRAY -> {
        out.packArrayHeader(value.size());
        for (JsonNode one : value) {
          pack(out, one);
        }
      }
      case STRING -> out.packString(value.textValue());
      case BOOLEAN -> out.packBoolean(value.booleanValue());
      case NUMBER -> {
        if (value.isIntegralNumber()) {
          out.packLong(value.longValue());
        } else {
          out.packDouble(value.doubleValue());
        }
      }
      case NULL -> out.packNil();
      case BINARY, MISSING, POJO -> throw new IllegalArgumentException("Messages have no " + value.getNodeType());
    }
  }
}
