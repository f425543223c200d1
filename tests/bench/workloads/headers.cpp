// The library's larger headers, and what they instantiate: some three million
// allocations of the compiler, from very many places.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>

int main() {
  std::map<std::string, std::vector<int>> rows;
  std::unordered_map<std::string, std::function<int(int)>> functions;
  std::regex word("([a-z]+)-([0-9]+)");
  std::mt19937 random(1);
  for (int i = 0; i < 100; i++) {
    std::string name = "row-" + std::to_string(i);
    rows[name].push_back(std::uniform_int_distribution<int>(0, 9)(random));
    functions[name] = [i](int x) { return x + i; };
    std::smatch match;
    if (std::regex_search(name, match, word))
      std::cout << match[1] << functions[name](rows[name].front()) << "\n";
  }
  std::vector<std::string> names;
  for (const auto &row : rows)
    names.push_back(row.first);
  std::stable_sort(names.begin(), names.end(), std::greater<std::string>());
  std::cout << names.front() << "\n";
}
