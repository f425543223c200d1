// A compiler has much to allocate here: deep template recursion, many
// instantiations, containers of containers.
#include <map>
#include <string>
#include <tuple>
#include <vector>

template <int N>
struct Sum {
  static constexpr long value = N + Sum<N - 1>::value;
};
template <>
struct Sum<0> {
  static constexpr long value = 0;
};

template <int... I>
struct Row {
  using type = std::tuple<std::integral_constant<int, I>...>;
};

template <int N, int... I>
struct MakeRow : MakeRow<N - 1, N - 1, I...> {};
template <int... I>
struct MakeRow<0, I...> : Row<I...> {};

template <typename T>
T twice(const T &value) {
  T copy = value;
  copy.insert(copy.end(), value.begin(), value.end());
  return copy;
}

int main() {
  std::map<std::string, std::vector<std::map<int, std::string>>> nested;
  nested["a"].push_back({{1, "x"}, {2, "y"}});
  typename MakeRow<60>::type row;
  (void)row;
  auto strings = twice(std::vector<std::string>{"p", "q"});
  return static_cast<int>(Sum<150>::value % 7 + nested.size() +
                          strings.size() + twice(std::string("z")).size());
}
