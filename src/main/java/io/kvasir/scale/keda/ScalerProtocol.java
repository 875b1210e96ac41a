package io.kvasir.scale.keda;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.Marshaller;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Status;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The methods of KEDA's external scaler protocol with the server's side of their messages. The numbers are those of
 * KEDA's {@code externalscaler.proto}; fields that are not known are passed over. The messages are so few and small
 * that they are read and written by hand.
 */
final class ScalerProtocol {
  static final String SERVICE = "externalscaler.ExternalScaler";

  static final MethodDescriptor<ScaledObject, Boolean> IS_ACTIVE =
      method(MethodType.UNARY, "IsActive", ScalerProtocol::scaledObject, ScalerProtocol::active);

  static final MethodDescriptor<ScaledObject, Boolean> STREAM_IS_ACTIVE =
      method(MethodType.SERVER_STREAMING, "StreamIsActive", ScalerProtocol::scaledObject, ScalerProtocol::active);

  static final MethodDescriptor<ScaledObject, Metric> GET_METRIC_SPEC =
      method(MethodType.UNARY, "GetMetricSpec", ScalerProtocol::scaledObject, ScalerProtocol::metric);

  static final MethodDescriptor<MetricQuery, Metric> GET_METRICS =
      method(MethodType.UNARY, "GetMetrics", ScalerProtocol::metricQuery, ScalerProtocol::metric);

  private ScalerProtocol() {}

  /** A metric's target in answers to GetMetricSpec, its value in those to GetMetrics: the messages have one form. */
  record Metric(String name, int value) {}

  /** The query of GetMetrics. */
  record MetricQuery(ScaledObject object, String metric) {}

  private interface Reader<T> {
    T read(CodedInputStream in) throws IOException;
  }

  private interface Writer<T> {
    void write(T message, CodedOutputStream out) throws IOException;
  }

  private static <Q, A> MethodDescriptor<Q, A> method(
      MethodType type, String name, Reader<Q> reader, Writer<A> writer) {
    return MethodDescriptor.<Q, A>newBuilder()
        .setType(type)
        .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, name))
        .setRequestMarshaller(new Requests<>(reader))
        .setResponseMarshaller(new Responses<>(writer))
        .build();
  }

  private record Requests<T>(Reader<T> reader) implements Marshaller<T> {
    @Override
    public InputStream stream(T message) {
      throw new UnsupportedOperationException("a server sends no requests");
    }

    @Override
    public T parse(InputStream stream) {
      try {
        return reader.read(CodedInputStream.newInstance(stream.readAllBytes()));
      } catch (IOException malformed) {
        throw Status.INVALID_ARGUMENT
            .withDescription("not a message of externalscaler.proto: " + malformed.getMessage())
            .withCause(malformed)
            .asRuntimeException();
      }
    }
  }

  private record Responses<T>(Writer<T> writer) implements Marshaller<T> {
    @Override
    public InputStream stream(T message) {
      return new ByteArrayInputStream(bytes(writer, message));
    }

    @Override
    public T parse(InputStream stream) {
      throw new UnsupportedOperationException("a server gets no responses");
    }
  }

  private static <T> byte[] bytes(Writer<T> writer, T message) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    CodedOutputStream out = CodedOutputStream.newInstance(bytes);
    try {
      writer.write(message, out);
      out.flush();
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
    return bytes.toByteArray();
  }

  private static ScaledObject scaledObject(CodedInputStream in) throws IOException {
    String name = "";
    String namespace = "";
    Map<String, String> metadata = new HashMap<>();
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      switch (tag) {
        case 0x0a -> name = in.readString();
        case 0x12 -> namespace = in.readString();
        case 0x1a -> addEntry(metadata, CodedInputStream.newInstance(in.readByteArray()));
        default -> in.skipField(tag);
      }
    }
    return new ScaledObject(name, namespace, Map.copyOf(metadata));
  }

  private static void addEntry(Map<String, String> map, CodedInputStream in) throws IOException {
    String key = "";
    String value = "";
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      switch (tag) {
        case 0x0a -> key = in.readString();
        case 0x12 -> value = in.readString();
        default -> in.skipField(tag);
      }
    }
    map.put(key, value);
  }

  private static MetricQuery metricQuery(CodedInputStream in) throws IOException {
    @Nullable ScaledObject object = null;
    String metric = "";
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      switch (tag) {
        case 0x0a -> object = scaledObject(CodedInputStream.newInstance(in.readByteArray()));
        case 0x12 -> metric = in.readString();
        default -> in.skipField(tag);
      }
    }
    return new MetricQuery(object == null ? new ScaledObject("", "", Map.of()) : object, metric);
  }

  private static void active(Boolean active, CodedOutputStream out) throws IOException {
    if (active) {
      out.writeBool(1, true);
    }
  }

  /** Both forms of the number, since older versions of KEDA know the whole one only. */
  private static void metric(Metric metric, CodedOutputStream out) throws IOException {
    out.writeByteArray(
        1,
        bytes(
            (each, inner) -> {
              inner.writeString(1, each.name());
              inner.writeInt64(2, each.value());
              inner.writeDouble(3, each.value());
            },
            metric));
  }
}
