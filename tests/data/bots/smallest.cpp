// A bot for FightTheLandlord without a JSON library: leads its smallest card, passes otherwise.
#include <cstdio>
#include <iostream>
#include <set>
#include <string>
#include <vector>

// The numbers of the list that begins at a place, nested lists included.
static std::vector<int> numbers(const std::string& text, size_t at) {
    std::vector<int> found;
    int depth = 0, value = -1;
    for (; at < text.size(); at++) {
        char c = text[at];
        if (c >= '0' && c <= '9') value = (value < 0 ? 0 : value * 10) + (c - '0');
        else if (value >= 0) { found.push_back(value); value = -1; }
        if (c == '[') depth++;
        if (c == ']' && --depth == 0) break;
    }
    return found;
}

int main() {
    std::string line;
    std::getline(std::cin, line);
    size_t own = line.find("\"own\""), last = line.rfind("\"history\"");
    std::set<int> held;
    for (int card : numbers(line, line.find('[', own))) held.insert(card);
    for (int card : numbers(line, line.find('[', line.find("\"responses\"")))) held.erase(card);
    if (numbers(line, line.find('[', last)).empty()) printf("{\"response\": [%d]}\n", *held.begin());
    else printf("{\"response\": []}\n");
}
